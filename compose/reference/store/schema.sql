-- What the listener and the rule daemons write: readings as a hypertable keyed by point and time, and heartbeats. Tags are in the graph.
CREATE EXTENSION IF NOT EXISTS timescaledb;

CREATE TABLE point_history (point_uri text COLLATE "C" NOT NULL, ts timestamptz NOT NULL, value double precision NOT NULL);
SELECT create_hypertable('point_history', by_range('ts', INTERVAL '6 hours'), create_default_indexes => false);
CREATE UNIQUE INDEX point_history_point_ts ON point_history (point_uri, ts);
CREATE INDEX point_history_ts ON point_history (ts);

CREATE TABLE service_heartbeats (service text NOT NULL, ts timestamptz NOT NULL);
CREATE INDEX service_heartbeats_ts ON service_heartbeats (service, ts);

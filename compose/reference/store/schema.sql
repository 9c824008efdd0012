-- What the listener writes: readings as a hypertable keyed by point and time, and the tags of the graph.
CREATE EXTENSION IF NOT EXISTS timescaledb;

CREATE TABLE point_history (topic text COLLATE "C" NOT NULL, ts bigint NOT NULL, value double precision NOT NULL);
-- Time is in milliseconds; a chunk holds six hours.
SELECT create_hypertable('point_history', by_range('ts', 21600000), create_default_indexes => false);
CREATE UNIQUE INDEX point_history_topic_ts ON point_history (topic, ts);
CREATE INDEX point_history_ts ON point_history (ts);

CREATE TABLE point_tags (topic text COLLATE "C" PRIMARY KEY, tags text NOT NULL);
CREATE TABLE equip_tags (topic text COLLATE "C" PRIMARY KEY, tags text NOT NULL, points text NOT NULL);

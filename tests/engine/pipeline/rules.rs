//! A rule daemon at QoS 0 that cannot keep up: the broker drops what its queue does not hold, and the ingest path loses nothing.

use super::bench::{Pipeline, bottleneck, ended};
use crate::ran::{assert_custody_is_whole, cause, stderr};

#[expect(clippy::float_cmp, reason = "counts are whole")]
#[test]
fn readings_that_a_slow_qos_0_daemon_missed_are_counted_and_not_blamed_on_the_ingest_path() {
    let pipeline = Pipeline::new(2_000);
    let run = pipeline.start("pipeline.toml", &["points=1000", "top=2000", "think_ms=5", "soak=12s"]).end();
    assert_eq!(ended(&run), (Some(1), vec!["fail"]), "{}", stderr(&run));
    assert_eq!(run.broken(0), ["nobody missed a reading"]);
    assert_custody_is_whole(&run, 0);
    let (dropped, received) = (run.truth(0, "broker_sys", "dropped"), run.truth(0, "rules_truth", "received"));
    assert!(dropped > 100.0, "the queue overflowed: {dropped}");
    assert_eq!(received + dropped, run.metric(0, "custody.acked"), "what the daemon did not get was dropped");
    assert!(cause(&run, 0).starts_with("broker_sys.dropped.delta = "), "{}", cause(&run, 0));
    let (part, evidence) = bottleneck(&run, 0);
    assert_eq!(part, Some("a QoS 0 subscriber"), "{evidence}");
    let words = "all that was acknowledged is stored, so a subscriber at QoS 0 missed them and not the ingest path";
    assert!(evidence.contains(words), "{evidence}");
}

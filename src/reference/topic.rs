//! Topics and topic filters: validity and matching. Source: OASIS MQTT 3.1.1, section 4.7.

/// The most levels that a topic or filter may have; it bounds the work of matching hostile ones.
const LEVELS: usize = 64;

/// Whether a name may be published to.
pub(super) fn is_topic(name: &str) -> bool {
    !name.is_empty() && !name.bytes().any(|byte| matches!(byte, b'+' | b'#' | 0)) && depth(name) <= LEVELS
}

/// Whether a text is a filter: wildcards stand alone in their level, and `#` is the last level.
pub(super) fn is_filter(filter: &str) -> bool {
    let mut ended = false;
    !filter.is_empty()
        && !filter.contains('\0')
        && depth(filter) <= LEVELS
        && filter.split('/').all(|level| {
            let well_placed = !ended;
            ended = level == "#";
            well_placed && (level.len() == 1 || !level.contains(['+', '#']))
        })
}

fn depth(name: &str) -> usize {
    name.bytes().filter(|byte| *byte == b'/').count() + 1
}

/// Whether a topic matches a filter. Topics that begin with `$` are hidden from filters that begin with a wildcard.
pub(super) fn matches(filter: &str, topic: &str) -> bool {
    if topic.starts_with('$') && filter.starts_with(['+', '#']) {
        return false;
    }
    let mut levels = topic.split('/');
    for part in filter.split('/') {
        if part == "#" {
            return true;
        }
        match levels.next() {
            Some(level) if part == "+" || part == level => {}
            _ => return false,
        }
    }
    levels.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_match_as_the_standard_says() {
        for (filter, topic, expected) in [
            ("sport/tennis/player1/#", "sport/tennis/player1", true),
            ("sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true),
            ("sport/#", "sport", true),
            ("#", "a/b", true),
            ("sport/tennis/+", "sport/tennis/player1", true),
            ("sport/tennis/+", "sport/tennis/player1/ranking", false),
            ("sport/+", "sport", false),
            ("sport/+", "sport/", true),
            ("+/+", "/finance", true),
            ("/+", "/finance", true),
            ("+", "/finance", false),
            ("#", "$SYS/broker/uptime", false),
            ("+/broker/uptime", "$SYS/broker/uptime", false),
            ("$SYS/#", "$SYS/broker/uptime", true),
            ("$SYS/broker/+", "$SYS/broker/uptime", true),
            ("a/b", "a/b/c", false),
            ("a/b/c", "a/b", false),
        ] {
            assert_eq!(matches(filter, topic), expected, "{filter} on {topic}");
        }
    }

    #[test]
    fn wildcards_stand_alone() {
        for filter in ["#", "+", "a/#", "+/a/+", "/", "a//b", "$SYS/#"] {
            assert!(is_filter(filter), "{filter}");
        }
        for filter in ["", "a#", "a/#/b", "a+/b", "#/a", "##", "a\0b"] {
            assert!(!is_filter(filter), "{filter:?}");
        }
        assert!(!is_filter(&"a/".repeat(LEVELS)));
        assert!(is_topic("a/b") && !is_topic("a/+") && !is_topic("") && !is_topic("#"));
    }
}

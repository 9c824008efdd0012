//! Timestamps as a payload wants them, written once per millisecond and copied in between. Pure.

use crate::plan::load::TimestampFormat;

/// The text of the last timestamp, kept because many readings share a millisecond.
#[derive(Clone, Debug)]
pub(super) struct Stamp {
    format: TimestampFormat,
    millisecond: Option<u64>,
    text: Vec<u8>,
}

impl Stamp {
    pub(super) fn new(format: TimestampFormat) -> Self {
        Self { format, millisecond: None, text: Vec::new() }
    }

    /// The timestamp of one moment.
    pub(super) fn at(format: TimestampFormat, unix_ns: u64) -> Self {
        let mut stamp = Self::new(format);
        stamp.advance(unix_ns);
        stamp
    }

    pub(super) fn format(&self) -> TimestampFormat {
        self.format
    }

    /// Moves to another time.
    #[inline]
    pub(super) fn advance(&mut self, unix_ns: u64) {
        let millisecond = unix_ns / 1_000_000;
        if self.millisecond != Some(millisecond) {
            self.millisecond = Some(millisecond);
            self.text.clear();
            self.write(millisecond);
        }
    }

    #[inline]
    pub(super) fn text(&self) -> &[u8] {
        &self.text
    }

    fn write(&mut self, unix_ms: u64) {
        let text = match self.format {
            TimestampFormat::UnixMs => unix_ms.to_string(),
            TimestampFormat::UnixS => format!("{}.{:03}", unix_ms / 1000, unix_ms % 1000),
            TimestampFormat::Rfc3339 => {
                let moment =
                    i64::try_from(unix_ms).ok().and_then(|whole| jiff::Timestamp::from_millisecond(whole).ok());
                moment.unwrap_or(jiff::Timestamp::MAX).strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
            }
        };
        self.text.extend_from_slice(text.as_bytes());
    }
}

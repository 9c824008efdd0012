//! A value as PostgreSQL sends it (its binary formats), turned into one that scaler computes with.

use std::error::Error;

use postgres::types::{FromSql, Kind, Type};

use crate::run::world::Datum;

/// Seconds from 1970 to 2000, where PostgreSQL's timestamps begin.
const EPOCH_2000_S: i64 = 946_684_800;

/// A value of any type that scaler reads; timestamps become Unix seconds.
pub(super) struct Value(Datum);

impl Value {
    pub(super) fn datum(value: Option<Self>) -> Datum {
        value.map_or(Datum::Null, |value| value.0)
    }
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let datum = match *kind {
            Type::BOOL => Datum::Integer(i64::from(bool::from_sql(kind, raw)?)),
            Type::INT2 => Datum::Integer(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Datum::Integer(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Datum::Integer(i64::from_sql(kind, raw)?),
            Type::OID => Datum::Integer(u32::from_sql(kind, raw)?.into()),
            Type::FLOAT4 => Datum::Real(f32::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Datum::Real(f64::from_sql(kind, raw)?),
            Type::NUMERIC => numeric(raw)?,
            Type::TIMESTAMP | Type::TIMESTAMPTZ => timestamp(i64::from_be_bytes(raw.try_into()?)),
            Type::DATE => Datum::Integer(i64::from(i32::from_be_bytes(raw.try_into()?)) * 86_400 + EPOCH_2000_S),
            // The binary form of jsonb is its text behind one byte of version.
            Type::JSONB => Datum::Text(String::from_utf8(raw.get(1..).unwrap_or_default().to_vec())?),
            _ => Datum::Text(std::str::from_utf8(raw)?.to_owned()),
        };
        Ok(Self(datum))
    }

    fn accepts(kind: &Type) -> bool {
        const KNOWN: [Type; 18] = [
            Type::BOOL,
            Type::INT2,
            Type::INT4,
            Type::INT8,
            Type::OID,
            Type::FLOAT4,
            Type::FLOAT8,
            Type::NUMERIC,
            Type::TIMESTAMP,
            Type::TIMESTAMPTZ,
            Type::DATE,
            Type::TEXT,
            Type::VARCHAR,
            Type::BPCHAR,
            Type::NAME,
            Type::UNKNOWN,
            Type::JSON,
            Type::JSONB,
        ];
        KNOWN.contains(kind) || matches!(kind.kind(), Kind::Enum(_))
    }
}

/// Microseconds since 2000; whole seconds stay whole, so that they can be compared exactly.
#[expect(clippy::cast_precision_loss, reason = "microseconds of a real date need 51 bits")]
fn timestamp(micros: i64) -> Datum {
    if micros % 1_000_000 == 0 {
        return Datum::Integer(micros / 1_000_000 + EPOCH_2000_S);
    }
    Datum::Real(micros as f64 / 1e6 + EPOCH_2000_S as f64)
}

/// The binary form of `numeric`: count, weight, sign and scale, then digits to the base 10,000 of which the first counts
/// 10,000^weight (`numeric_send` in the server's sources).
fn numeric(raw: &[u8]) -> Result<Datum, Box<dyn Error + Sync + Send>> {
    let words: Vec<u16> = raw.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    let [count, weight, sign, _scale, digits @ ..] = words.as_slice() else {
        return Err("a numeric value of too few bytes".into());
    };
    if digits.len() != usize::from(*count) {
        return Err("a numeric value whose length does not fit".into());
    }
    let sign = match sign {
        0x0000 => "",
        0x4000 => "-",
        _ => return Ok(Datum::Text("not a finite number".to_owned())),
    };
    // Written out in decimal and parsed, so that the result is rounded once and rightly.
    let weight = i32::from(weight.cast_signed());
    let exponent = 4 * (weight - i32::from(*count) + 1);
    let digits = digits.iter().fold("0".to_owned(), |written, digit| format!("{written}{digit:04}"));
    let whole = if exponent >= 0 {
        format!("{sign}{digits}{}", "0".repeat(exponent.unsigned_abs() as usize))
    } else {
        String::new()
    };
    if let Ok(number) = whole.parse() {
        return Ok(Datum::Integer(number));
    }
    Ok(Datum::Real(format!("{sign}{digits}e{exponent}").parse()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(words: &[u16]) -> Datum {
        let raw: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        numeric(&raw).unwrap()
    }

    #[test]
    fn numerics() {
        assert_eq!(number(&[0, 0, 0, 0]), Datum::Integer(0));
        assert_eq!(number(&[1, 0, 0, 0, 42]), Datum::Integer(42));
        assert_eq!(number(&[1, 1, 0x4000, 0, 3]), Datum::Integer(-30_000));
        assert_eq!(number(&[2, 0, 0, 1, 12, 5000]), Datum::Real(12.5));
        assert_eq!(number(&[1, 0xFFFF, 0, 4, 1]), Datum::Real(0.0001));
        assert_eq!(number(&[0, 0, 0xC000, 0]).number(), None);
        assert!(numeric(&[0, 1]).is_err());
        assert!(numeric(&[0, 9, 0, 0, 0, 0, 0, 0]).is_err());
    }

    #[test]
    fn timestamps_are_unix_seconds() {
        assert_eq!(timestamp(0), Datum::Integer(EPOCH_2000_S));
        assert_eq!(timestamp(1_500_000), Datum::Real(946_684_801.5));
        assert_eq!(timestamp(-1_000_000), Datum::Integer(EPOCH_2000_S - 1));
    }
}

//! The value of a reading: exact in binary and in decimal, and known again from its point and tick alone. Pure.
//!
//! Values are multiples of 1/1024 from −512 up to, but without, 512. Such a number has at most ten binary digits behind the point,
//! so it fits any floating type of a store without rounding, sums of billions of them are exact, and it is
//! printed exactly with at most ten decimals (1/1024 = 0.0009765625).

/// The seed of a load's values: FNV-1a of its name, so that two loads never send the same values.
#[must_use]
pub fn seed_of(load: &str) -> u64 {
    load.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The value of a point's reading in units of 1/1024.
///
/// The mixing function is the finalizer of `SplitMix64` (Steele, Lea, Flood 2014): each input bit reaches each output bit.
#[must_use]
#[expect(clippy::cast_possible_wrap, reason = "20 bits")]
pub fn value(point: u64, tick: u64, seed: u64) -> i64 {
    let mut hash =
        point.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(tick.wrapping_mul(0xd1b5_4a32_d192_ed03)) ^ seed;
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^= hash >> 31;
    (hash >> 44) as i64 - 524_288
}

/// Writes a value in its shortest decimal spelling, which is exact: `-0.0009765625`, `12.5`, `3`.
pub fn write(units: i64, out: &mut Vec<u8>) {
    if units < 0 {
        out.push(b'-');
    }
    let magnitude = units.unsigned_abs();
    out.extend_from_slice(itoa::Buffer::new().format(magnitude >> 10).as_bytes());
    let (digits, length) = &FRACTIONS[(magnitude & 1023) as usize];
    out.extend_from_slice(&digits[..*length as usize]);
}

/// For each number of 1/1024: the point and its decimals without trailing zeros, and how many bytes that is.
static FRACTIONS: [([u8; 11], u8); 1024] = fractions();

#[expect(clippy::cast_possible_truncation, reason = "a decimal digit")]
const fn fractions() -> [([u8; 11], u8); 1024] {
    let mut table = [([b'.'; 11], 0); 1024];
    let mut units = 1;
    while units < 1024 {
        let mut rest = units as u64 * 9_765_625; // 1/1024 in units of 10^-10
        let mut place = 10;
        let mut length = 0;
        while place > 0 {
            let digit = (rest % 10) as u8;
            rest /= 10;
            table[units].0[place] = b'0' + digit;
            if digit != 0 && length == 0 {
                length = place + 1;
            }
            place -= 1;
        }
        table[units].1 = length as u8;
        units += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(units: i64) -> String {
        let mut out = Vec::new();
        write(units, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn spellings_are_shortest_and_exact() {
        let rows = [
            (0, "0"),
            (1, "0.0009765625"),
            (-1, "-0.0009765625"),
            (512, "0.5"),
            (12_800, "12.5"),
            (3072, "3"),
            (-524_288, "-512"),
        ];
        for (units, text) in rows {
            assert_eq!(written(units), text);
        }
    }

    #[test]
    fn loads_points_and_ticks_differ() {
        assert_ne!(seed_of("readings"), seed_of("other"));
        let of_point: std::collections::HashSet<i64> = (0..100).map(|tick| value(7, tick, 1)).collect();
        assert!(of_point.len() > 95, "a wrong tick would show: {}", of_point.len());
        let mean = (0..10_000).map(|point| value(point, 0, 1)).sum::<i64>() / 10_000;
        assert!(mean.abs() < 15_000, "{mean} of ±524288");
    }

    proptest! {
        #[test]
        fn values_are_bounded_and_read_back_exactly(point: u64, tick: u64, seed: u64) {
            let units = value(point, tick, seed);
            prop_assert!((-524_288..524_288).contains(&units));
            let number: f64 = written(units).parse().unwrap();
            #[expect(clippy::cast_precision_loss, reason = "20 bits")]
            let exact = units as f64;
            prop_assert!((number * 1024.0 - exact).abs() < f64::EPSILON);
        }
    }
}

//! Statistics of small samples. Every function gives none where the sample cannot support the figure.

/// The mean; none of nothing.
#[must_use]
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / count(values.len()))
}

/// The sample standard deviation (n − 1 in the denominator); none below three values, which show no spread worth the name.
#[must_use]
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    (values.len() >= 3).then(|| spread(values)).flatten()
}

/// The sample standard deviation of two values and more.
fn spread(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() >= 2)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / count(values.len() - 1)).sqrt())
}

/// The median: the middle value, or the mean of the two in the middle; none of nothing.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n.is_multiple_of(2) => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
        _ => Some(sorted[middle]),
    }
}

/// The greatest value; none of nothing.
#[must_use]
pub fn greatest(values: &[f64]) -> Option<f64> {
    values.iter().copied().max_by(f64::total_cmp)
}

/// The least value; none of nothing.
#[must_use]
pub fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().min_by(f64::total_cmp)
}

/// The rank, from 1, of a quantile among `n` sorted observations by the nearest-rank rule: ⌈q n⌉.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and n")]
pub fn nearest_rank(quantile: f64, n: u64) -> u64 {
    // A quantile such as 0.95 is not exact in binary; a hair above a whole rank is that rank.
    let rank = (quantile * count_u64(n) - 1e-9).ceil();
    (rank.max(1.0) as u64).min(n.max(1))
}

/// The least n at which the longest of n observations bounds the quantile from above at 95% confidence:
/// 1 − qⁿ ≥ 0.95, so n ≥ ln 0.05 / ln q. It is 5 for the median, 59 for p95, 299 for p99.
#[must_use]
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and small for quantiles below 1")]
pub fn observations_for(quantile: f64) -> u64 {
    (0.05_f64.ln() / quantile.ln()).ceil() as u64
}

/// A value with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The least-squares slope of y over x with its 95% interval, b ± t(n − 2) s / √Σ(x − x̄)², where s² is the residual variance
/// over n − 2. None below three points or when all x are the same.
#[must_use]
pub fn slope(points: &[(f64, f64)]) -> Option<Interval> {
    let n = points.len();
    let t = t_quantile(n.checked_sub(2)?)?;
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let (x_mean, y_mean) = (mean(&xs)?, mean(&ys)?);
    let xx: f64 = xs.iter().map(|x| (x - x_mean).powi(2)).sum();
    if xx <= 0.0 {
        return None;
    }
    let xy: f64 = points.iter().map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    let value = xy / xx;
    let residual: f64 = points.iter().map(|(x, y)| (y - y_mean - value * (x - x_mean)).powi(2)).sum();
    let half = t * (residual / count(n - 2) / xx).sqrt();
    Some(Interval { value, low: value - half, high: value + half })
}

/// The 0.975 quantile of Student's t with so many degrees of freedom; none for 0.
///
/// From the table up to 4; beyond, the Cornish–Fisher expansion (Abramowitz and Stegun 26.7.5), which is within 0.1% there.
#[must_use]
pub fn t_quantile(degrees: usize) -> Option<f64> {
    const FIRST: [f64; 4] = [12.706_204_736, 4.302_652_730, 3.182_446_305, 2.776_445_105];
    const NORMAL: f64 = 1.959_963_985;
    if let Some(tabled) = degrees.checked_sub(1).map(|index| FIRST.get(index)) {
        return tabled.copied().or_else(|| {
            let (z, v) = (NORMAL, count(degrees));
            let g1 = (z.powi(3) + z) / 4.0;
            let g2 = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
            let g3 = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
            let g4 =
                (79.0 * z.powi(9) + 776.0 * z.powi(7) + 1482.0 * z.powi(5) - 1920.0 * z.powi(3) - 945.0 * z) / 92160.0;
            Some(z + g1 / v + g2 / v.powi(2) + g3 / v.powi(3) + g4 / v.powi(4))
        });
    }
    None
}

/// The values in rising order.
#[must_use]
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// A length as a number.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "lengths stay below 2^53")]
pub fn count(length: usize) -> f64 {
    length as f64
}

/// A count as a number.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
pub fn count_u64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn near(found: f64, wanted: f64, tolerance: f64) {
        assert!((found - wanted).abs() <= tolerance, "{found} is not {wanted} ± {tolerance}");
    }

    #[test]
    fn quantiles_of_t_agree_with_the_tables() {
        let table =
            [(1, 12.706), (4, 2.776), (5, 2.571), (6, 2.447), (8, 2.306), (10, 2.228), (30, 2.042), (120, 1.980)];
        for (degrees, wanted) in table {
            near(t_quantile(degrees).unwrap(), wanted, 0.002);
        }
        assert_eq!(t_quantile(0), None);
    }

    #[test]
    fn a_quantile_needs_the_observations_that_support_it() {
        assert_eq!([0.5, 0.95, 0.99].map(observations_for), [5, 59, 299]);
    }

    #[test]
    fn ranks_are_not_moved_by_binary_fractions() {
        let cases =
            [(0.95, 20, 19), (0.95, 100, 95), (0.99, 100, 99), (0.5, 1, 1), (0.5, 4, 2), (0.95, 59, 57), (1.0, 7, 7)];
        for (quantile, n, rank) in cases {
            assert_eq!(nearest_rank(quantile, n), rank, "{quantile} of {n}");
        }
    }

    #[test]
    fn small_samples_give_none() {
        assert_eq!((mean(&[]), median(&[]), greatest(&[]), least(&[])), (None, None, None, None));
        assert_eq!(standard_deviation(&[1.0, 2.0]), None);
        near(standard_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap(), 2.138, 0.001);
        assert_eq!(slope(&[(0.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(slope(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
    }

    #[test]
    fn medians_of_odd_and_even_samples() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn a_slope_and_its_interval_against_a_worked_example() {
        // x 1…5, y 2, 4, 5, 4, 5: b = 0.6, residual variance 2.4 / 3, t(3) = 3.182, so b ± 0.9.
        let found = slope(&[(1.0, 2.0), (2.0, 4.0), (3.0, 5.0), (4.0, 4.0), (5.0, 5.0)]).unwrap();
        near(found.value, 0.6, 1e-9);
        near(found.low, -0.3, 0.001);
        near(found.high, 1.5, 0.001);
    }

    proptest! {
        #[test]
        fn a_straight_line_is_found_again(a in -1e3..1e3_f64, b in -1e3..1e3_f64, n in 3_usize..50) {
            let points: Vec<(f64, f64)> = (0..n).map(|i| (count(i), a + b * count(i))).collect();
            let found = slope(&points).unwrap();
            prop_assert!((found.value - b).abs() < 1e-6);
            prop_assert!(found.low <= found.value && found.value <= found.high);
        }

        #[test]
        fn the_median_lies_between_the_ends(values in prop::collection::vec(-1e6..1e6_f64, 1..40)) {
            let middle = median(&values).unwrap();
            prop_assert!(least(&values).unwrap() <= middle && middle <= greatest(&values).unwrap());
        }
    }
}

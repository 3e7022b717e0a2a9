//! A table of points that straight lines join.

/// Returns the value at `x` of the line that joins `points`, each of which has an x and a value and which ascend in x. Below the
/// first point it is the first value, and beyond the last point the last slope goes on. Without points it is 0.
pub fn value(points: &[[f64; 2]], x: f64) -> f64 {
    let above = points.partition_point(|[at, _]| *at <= x).min(points.len().saturating_sub(1));
    match points[..points.len().min(above + 1)] {
        [.., [low, from], [high, to]] => from + (x - low) / (high - low) * (to - from),
        [[_, only]] => only,
        [] => 0.0,
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn it_is_linear_between_its_points_and_goes_on() {
        let found = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0].map(|x| value(&[[2.0, 1.0], [4.0, 2.0], [8.0, 2.5]], x));
        assert_eq!(found, [1.0, 1.0, 1.5, 2.0, 2.25, 2.5, 3.5]);
        assert_eq!((value(&[[1.0, 3.0]], 9.0), value(&[], 9.0)), (3.0, 0.0));
    }
}

//! A line of maxima keeps the largest of each bucket: no stall disappears because a picture is narrow.

pub fn thin(points: &[(f64, f64)], limit: usize) -> Vec<(f64, f64)> {
    let limit = limit.max(1);
    if points.len() <= limit {
        return points.to_vec();
    }
    (0..limit)
        .map(|bucket| &points[bucket * points.len() / limit..(bucket + 1) * points.len() / limit])
        .filter_map(|bucket| bucket.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_second_survives_thinning() {
        let mut points: Vec<_> = (0..100_000).map(|s| (f64::from(s), 1.0)).collect();
        points[77_777].1 = 9.0;
        let thinned = thin(&points, 300);
        assert_eq!(thinned.len(), 300);
        assert!(thinned.contains(&(77_777.0, 9.0)));
        assert!(thinned.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(thin(&[(0.0, 1.0)], 300), [(0.0, 1.0)]);
    }
}

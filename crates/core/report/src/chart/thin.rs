//! A line of maxima keeps the largest of each bucket, a line of minima the smallest: no
//! stall disappears because a picture is narrow.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    Largest,
    Smallest,
}

pub fn thin(points: &[(f64, f64)], limit: usize, keep: Keep) -> Vec<(f64, f64)> {
    let limit = limit.max(1);
    if points.len() <= limit {
        return points.to_vec();
    }
    let better = |a: f64, b: f64| match keep {
        Keep::Largest => a > b,
        Keep::Smallest => a < b,
    };
    (0..limit)
        .map(|bucket| &points[bucket * points.len() / limit..(bucket + 1) * points.len() / limit])
        .filter_map(|bucket| {
            bucket.iter().copied().reduce(|best, p| if better(p.1, best.1) { p } else { best })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_second_survives_thinning() {
        let mut points: Vec<_> = (0..100_000).map(|s| (f64::from(s), 1.0)).collect();
        points[77_777].1 = 9.0;
        let thinned = thin(&points, 300, Keep::Largest);
        assert_eq!(thinned.len(), 300);
        assert!(thinned.contains(&(77_777.0, 9.0)));
        assert!(thinned.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn the_best_second_survives_thinning() {
        let points: Vec<_> =
            (0..1_000).map(|s| (f64::from(s), if s == 500 { 0.1 } else { 5.0 })).collect();
        assert!(thin(&points, 10, Keep::Smallest).contains(&(500.0, 0.1)));
    }

    #[test]
    fn short_series_stay_as_they_are() {
        assert_eq!(thin(&[(0.0, 1.0)], 300, Keep::Largest), [(0.0, 1.0)]);
        assert!(thin(&[], 300, Keep::Largest).is_empty());
    }
}

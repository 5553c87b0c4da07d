//! The order of trials: randomised complete blocks, balanced by position
//! (validity rule 8), from a seed that is printed and stored.

/// Order of `cells` cells in block `block` (from 0): a permutation of `0..cells`.
///
/// Every `cells` blocks form a Williams square (Williams 1949, "Experimental designs
/// balanced for the estimation of residual effects of treatments"): each cell stands at
/// each position once, and for an even number of cells each follows each other one once,
/// so that neither a place in the block nor a neighbour falls on one of them. Labels and
/// rows are shuffled anew for each square; every second square runs backwards, which
/// balances the neighbours of an odd number.
pub fn block_order(seed: u64, cells: usize, block: u32) -> Vec<usize> {
    if cells == 0 {
        return Vec::new();
    }
    let square = u64::from(block) / cells as u64;
    let mut rng = fastrand::Rng::with_seed(seed ^ square.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut labels: Vec<usize> = (0..cells).collect();
    let mut rows: Vec<usize> = (0..cells).collect();
    rng.shuffle(&mut labels);
    rng.shuffle(&mut rows);
    let row = rows[block as usize % cells];
    let mut order: Vec<usize> =
        (0..cells).map(|position| labels[(zigzag(position, cells) + row) % cells]).collect();
    if square % 2 == 1 {
        order.reverse();
    }
    order
}

/// 0, 1, n - 1, 2, n - 2, ...: differences of neighbours are all different.
fn zigzag(position: usize, cells: usize) -> usize {
    match position % 2 {
        1 => position.div_ceil(2),
        _ => (cells - position / 2) % cells,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_holds_each_cell_once() {
        for block in 0..50 {
            let mut order = block_order(7, 6, block);
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3, 4, 5]);
        }
    }

    #[test]
    fn a_square_balances_positions_and_neighbours() {
        let mut at = [[0; 4]; 4];
        let mut after = [[0; 4]; 4];
        for block in 0..4 {
            let order = block_order(3, 4, block);
            order.iter().enumerate().for_each(|(position, cell)| at[*cell][position] += 1);
            order.windows(2).for_each(|pair| after[pair[0]][pair[1]] += 1);
        }
        assert_eq!(at, [[1; 4]; 4]);
        let unequal = |a: usize, b: usize| if a == b { 0 } else { 1 };
        assert_eq!(after, std::array::from_fn(|a| std::array::from_fn(|b| unequal(a, b))));
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(block_order(7, 5, 3), block_order(7, 5, 3));
        let orders: std::collections::BTreeSet<_> =
            (0..40).map(|seed| block_order(seed, 5, 0)).collect();
        assert!(orders.len() > 20);
    }
}

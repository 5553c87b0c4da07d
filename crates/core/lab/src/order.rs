//! The order of trials: randomised complete blocks, balanced by position and by neighbour
//! (validity rules 8 and 24), from a seed that is printed and stored.

/// Order of `cells` cells in block `block` (from 0): a permutation of `0..cells`.
///
/// Blocks come in Williams squares (Williams 1949, "Experimental designs balanced for the estimation of residual
/// effects of treatments"): each cell stands at each position once and, where their number is even, follows each
/// other one once. An odd number needs the mirrored square with the same labels beside it: twice as many blocks. Its
/// rows are chained so that a block begins with the cell that ended the block before; then each cell
/// follows each, itself too, equally often, and what one leaves behind falls on all alike. An even number is
/// chained in pairs of rows, so that a cell follows itself half as often as another.
///
/// Labels are shuffled anew for each square or pair of squares.
pub fn block_order(seed: u64, cells: usize, block: u32) -> Vec<usize> {
    if cells == 0 {
        return Vec::new();
    }
    let is_odd = cells % 2 == 1;
    let square_rows = if is_odd { 2 * cells } else { cells };
    let (square, step) = (u64::from(block) / square_rows as u64, block as usize % square_rows);
    let mut labels: Vec<usize> = (0..cells).collect();
    let mut rng = fastrand::Rng::with_seed(seed);
    rng.shuffle(&mut labels);
    rng = fastrand::Rng::with_seed(seed ^ (square + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    // A chain of odd length ends where it began: the next one begins with the same label.
    rng.shuffle(&mut labels[usize::from(is_odd)..]);
    // The last cell of row r is the first of row r + jump.
    let jump = zigzag(cells - 1, cells);
    let (row, is_mirrored) = match is_odd {
        true if step < cells => (step * jump, false),
        true => (step * (cells - jump), true),
        false => (step / 2 + step % 2 * jump, false),
    };
    let place = |position: usize| match is_mirrored {
        true => (zigzag(cells - 1 - position, cells) + row + cells - jump) % cells,
        false => (zigzag(position, cells) + row) % cells,
    };
    (0..cells).map(|position| labels[place(position)]).collect()
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

    /// How often each cell stands at each position, and follows each cell within or between blocks.
    fn counted(seed: u64, cells: usize, blocks: u32) -> (Vec<u32>, Vec<u32>) {
        let (mut at, mut after) = (vec![0; cells * cells], vec![0; cells * cells]);
        let mut before: Option<usize> = None;
        for block in 0..blocks {
            for (position, cell) in block_order(seed, cells, block).into_iter().enumerate() {
                at[cell * cells + position] += 1;
                if let Some(before) = before.replace(cell) {
                    after[before * cells + cell] += 1;
                }
            }
        }
        (at, after)
    }

    #[test]
    fn an_even_square_balances_positions_and_neighbours_within_its_blocks() {
        for cells in [2, 4, 6] {
            let (at, _) = counted(3, cells, cells as u32);
            assert!(at.iter().all(|count| *count == 1), "{cells}: {at:?}");
            let mut after = vec![0; cells * cells];
            for block in 0..cells as u32 {
                let order = block_order(3, cells, block);
                order.windows(2).for_each(|pair| after[pair[0] * cells + pair[1]] += 1);
            }
            let others = (0..cells * cells).filter(|pair| pair / cells != pair % cells);
            assert!(others.clone().all(|pair| after[pair] == 1), "{cells}: {after:?}");
        }
    }

    /// The first trial of all follows nothing: one succession is missing.
    #[test]
    fn two_odd_squares_balance_positions_and_every_neighbour_itself_too() {
        for (cells, seed) in [(3, 1), (5, 2), (7, 3), (7, 4)] {
            let (at, after) = counted(seed, cells, 4 * cells as u32);
            assert!(at.iter().all(|count| *count == 4), "{cells}: {at:?}");
            let missing: u32 = after.iter().map(|count| 4 - count).sum();
            assert_eq!(missing, 1, "{cells}: {after:?}");
        }
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(block_order(7, 5, 3), block_order(7, 5, 3));
        let orders: std::collections::BTreeSet<_> =
            (0..40).map(|seed| block_order(seed, 5, 0)).collect();
        assert!(orders.len() > 20);
    }
}

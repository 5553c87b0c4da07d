#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

#[derive(Debug, Clone)]
pub struct Grid {
    pub columns: Vec<Align>,
    /// Rows of cells; a line feed in a cell begins another line.
    pub rows: Vec<Vec<String>>,
}

const GAP: usize = 2;

impl Grid {
    pub fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
    }

    fn widths(&self) -> Vec<usize> {
        (0..self.columns.len())
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                let lines = cells.flat_map(|cell| cell.split('\n'));
                lines.map(|line| line.chars().count()).max().unwrap_or(0)
            })
            .collect()
    }

    pub fn lines(&self) -> Vec<Vec<String>> {
        let widths = self.widths();
        self.rows.iter().map(|row| self.row_lines(row, &widths)).collect()
    }

    fn row_lines(&self, row: &[String], widths: &[usize]) -> Vec<String> {
        let height = row.iter().map(|cell| cell.split('\n').count()).max().unwrap_or(1);
        (0..height)
            .map(|line| {
                let cells =
                    row.iter().zip(widths).zip(&self.columns).map(|((cell, width), align)| {
                        let text = cell.split('\n').nth(line).unwrap_or("");
                        match align {
                            Align::Left => format!("{text:<width$}"),
                            Align::Right => format!("{text:>width$}"),
                        }
                    });
                let line = cells.collect::<Vec<_>>().join(&" ".repeat(GAP));
                line.trim_end().to_string()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_and_cells_may_have_two_lines() {
        let grid = Grid {
            columns: vec![Align::Left, Align::Right, Align::Left],
            rows: vec![
                vec!["".into(), "p50".into(), "against ext4".into()],
                vec!["xfs".into(), "141 us".into(), "1.38x faster\n[1.21, 1.57]".into()],
            ],
        };
        let lines: Vec<_> = grid.lines().into_iter().flatten().collect();
        assert_eq!(
            lines,
            ["        p50  against ext4", "xfs  141 us  1.38x faster", "             [1.21, 1.57]"]
        );
        assert_eq!(grid.width(), 25);
    }
}

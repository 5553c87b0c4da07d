# Block-paired ratios: reads `mount round program rate_per_s p50_ns` of the programs in `names`, prints ours against each
# other one, and pwrite against lseek and write where both are there.
#
# A ratio is taken within a round only. Its interval is exact and needs no model: the k-th smallest
# and k-th largest of n ratios hold the median with at least 95 % (sign test, binomial(n, 1/2)).
# Under six rounds there is no such interval, and nothing is decided.

{
    if (!(($1) in seen_mount)) { seen_mount[$1] = 1; mounts[++mount_count] = $1 }
    if ($2 > rounds) rounds = $2
    rate[$1, $2, $3] = $4
    p50[$1, $2, $3] = $5
}

END {
    program_count = split(names, programs, " ")
    for (m = 1; m <= mount_count; m++) print_rates(mounts[m])
    print ""
    printf "%-6s %-28s %6s %7s %6s   %-18s %s\n", "mount", "ratio, " rounds " rounds", "min", "median", "max", "95 % of the median", "target"
    for (m = 1; m <= mount_count; m++) print_ratios(mounts[m])
}

function print_rates(mount,    i, n, middle, values) {
    if (mount == mounts[1]) printf "%-6s %-12s %12s %8s\n", "mount", "program", "rate per s", "p50 ns"
    for (i = 1; i <= program_count; i++) {
        n = column(rate, mount, programs[i], values)
        printf "%-6s %-12s %12.0f", mount, programs[i], median(values, n)
        n = column(p50, mount, programs[i], values)
        middle = median(values, n)
        printf " %8s\n", (middle > 0 ? sprintf("%.0f", middle) : "-")
    }
}

function print_ratios(mount,    i, other) {
    for (i = 1; i <= program_count; i++) {
        other = programs[i]
        if (other == "pickfs") continue
        ratio(rate, mount, "pickfs", other, "rate", bound_of(mount, other), 1)
        ratio(p50, mount, "pickfs", other, "p50", other == "fio" ? 1.0 : 0, -1)
    }
    ratio(p50, mount, "bare-in-loop", "bare-seek", "p50", 0, -1)
}

function bound_of(mount, other) {
    if (other == "fio") return mount == "tmpfs" ? 1.5 : 1.0
    return other ~ /^bare(-in-loop|-content)?$/ ? 0.95 : 0
}

# One row: a program's over another one's; `better` is 1 where more is better, -1 where less is.
function ratio(table, mount, program, other, what, bound, better,    r, n, k, values, low, high, interval) {
    n = 0
    for (r = 1; r <= rounds; r++)
        if (table[mount, r, other] > 0 && table[mount, r, program] > 0)
            values[++n] = table[mount, r, program] / table[mount, r, other]
    if (n == 0) return
    ascending(values, n)
    k = rank(n)
    low = k ? values[k] : 0
    high = k ? values[n + 1 - k] : 0
    interval = k ? sprintf("[%.3f, %.3f]", low, high) : "none under 6"
    printf "%-6s %-28s %6.3f %7.3f %6.3f   %-18s %s\n", mount, program " / " other ", " what, \
        values[1], median(values, n), values[n], interval, against(bound, better, k, low, high)
}

function against(bound, better, k, low, high,    text) {
    if (bound == 0) return "for comparison"
    text = (better > 0 ? ">= " : "<= ") bound ": "
    if (!k) return text "not decided"
    if (better > 0) return text (low >= bound ? "met" : high < bound ? "MISSED" : "not decided")
    return text (high <= bound ? "met" : low > bound ? "MISSED" : "not decided")
}

# The largest k with 2 * P(Binomial(n, 1/2) < k) <= 0.05; 0 when there is none.
function rank(n,    k, term, sum) {
    term = 0.5 ^ n
    sum = 0
    for (k = 0; k <= n; k++) {
        sum += term
        if (2 * sum > 0.05) return k
        term = term * (n - k) / (k + 1)
    }
    return 0
}

function column(table, mount, program, values,    r, n) {
    n = 0
    for (r = 1; r <= rounds; r++)
        if ((mount, r, program) in table) values[++n] = table[mount, r, program]
    ascending(values, n)
    return n
}

function ascending(values, n,    i, j, held) {
    for (i = 2; i <= n; i++) {
        held = values[i]
        for (j = i - 1; j >= 1 && values[j] > held; j--) values[j + 1] = values[j]
        values[j + 1] = held
    }
}

function median(values, n) {
    if (n == 0) return 0
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
}

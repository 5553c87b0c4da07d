# Block-paired ratios: reads `mount round task program seconds`, prints each other program's time over ours.
#
# A ratio is taken within a round only; above 1 we are faster. Its interval is exact and needs no model: the k-th
# smallest and k-th largest of n ratios hold the median with at least 95 % (sign test). Under six rounds there is
# no such interval, and nothing is decided.

{
    key = $1 SUBSEP $3
    if (!(key in seen)) { seen[key] = 1; keys[++key_count] = key }
    if (!(($4) in known)) { known[$4] = 1; programs[++program_count] = $4 }
    if ($2 > rounds) rounds = $2
    seconds[$1, $3, $2, $4] = $5
}

END {
    printf "%-6s %-9s %-14s %10s %7s %7s %7s  %-18s %s\n", "mount", "task", "against", "ours s", \
        "min", "median", "max", "95 % of the median", "at least as fast"
    for (k = 1; k <= key_count; k++) {
        split(keys[k], part, SUBSEP)
        for (p = 1; p <= program_count; p++)
            if (programs[p] != "pickfs") ratio(part[1], part[2], programs[p])
    }
}

function ratio(mount, task, other,    r, n, k, ours, values, times, interval, verdict) {
    n = 0
    for (r = 1; r <= rounds; r++)
        if ((mount, task, r, other) in seconds && (mount, task, r, "pickfs") in seconds) {
            ours = seconds[mount, task, r, "pickfs"]
            times[++n] = ours
            values[n] = seconds[mount, task, r, other] / ours
        }
    if (n == 0) return
    ascending(values, n)
    ascending(times, n)
    k = rank(n)
    interval = k ? sprintf("[%.3f, %.3f]", values[k], values[n + 1 - k]) : "none under 6"
    verdict = "not decided"
    if (k && values[k] >= 1) verdict = "met"
    if (k && values[n + 1 - k] < 1) verdict = "MISSED"
    if (other == "zeros") verdict = "for comparison"
    printf "%-6s %-9s %-14s %10.6f %7.3f %7.3f %7.3f  %-18s %s\n", mount, task, other, median(times, n), \
        values[1], median(values, n), values[n], interval, verdict
}

# The largest k with 2 * P(Binomial(n, 1/2) < k) <= 0.05; 0 when there is none.
function rank(n,    k, term, sum) {
    term = 0.5 ^ n
    for (k = 0; k <= n; k++) {
        sum += term
        if (2 * sum > 0.05) return k
        term = term * (n - k) / (k + 1)
    }
    return 0
}

function ascending(values, n,    i, j, held) {
    for (i = 2; i <= n; i++) {
        held = values[i]
        for (j = i - 1; j >= 1 && values[j] > held; j--) values[j + 1] = values[j]
        values[j + 1] = held
    }
}

function median(values, n) {
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
}

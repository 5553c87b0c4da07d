# Block-paired ratios of the FIX engine: reads `mount round program metric value`, prints ours against QuickFIX/J's.
#
# A ratio is taken within a round only. Its interval is exact and needs no model: the k-th smallest and k-th largest of
# n ratios hold the median with at least 95 % (sign test). Under six rounds there is no such interval, and nothing is
# decided. The order's own way through our engine has no counterpart: its target is in nanoseconds.

{
    if (!($1 in seen)) { seen[$1] = 1; mounts[++mount_count] = $1 }
    if ($2 > rounds) rounds = $2
    value[$1, $2, $3, $4] = $5
}

END {
    printf "%-6s %-20s %12s %12s %8s %8s %8s   %-18s %s\n", "mount", "metric", "ours", "quickfix", "min", "ratio", "max", "95 % of the ratio", "target"
    for (m = 1; m <= mount_count; m++) {
        row(mounts[m], "round_trip_p50_ns", 0.4)
        row(mounts[m], "round_trip_p99_ns", 0)
        row(mounts[m], "round_trip_p999_ns", 1)
        row(mounts[m], "orders_per_s", 0)
        plain(mounts[m], "order_p50_ns", 5000)
        plain(mounts[m], "send_p50_ns", 0)
        plain(mounts[m], "before_send_p50_ns", 0)
        plain(mounts[m], "persist_in_p50_ns", 0)
        plain(mounts[m], "persist_out_p50_ns", 0)
    }
}

# k of the sign-test interval: the largest with 2 * P(X < k) <= 0.05 for X ~ binomial(n, 1/2); 0 when there is none.
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

function ordered(values, n,    i, j, held) {
    for (i = 2; i <= n; i++) {
        held = values[i]
        for (j = i - 1; j >= 1 && values[j] > held; j--) values[j + 1] = values[j]
        values[j + 1] = held
    }
}

function middle(values, n) { return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2 }

# All values of a metric, ordered, into `values`; gives how many.
function all_of(mount, program, metric, values,    r, n) {
    n = 0
    for (r = 1; r <= rounds; r++) if ((mount, r, program, metric) in value) values[++n] = value[mount, r, program, metric]
    ordered(values, n)
    return n
}

function median_of(mount, program, metric,    n, values) {
    n = all_of(mount, program, metric, values)
    return n ? middle(values, n) : 0
}

# Both programs; with a target, the whole interval must lie below it.
function row(mount, metric, target,    r, n, k, ratios, verdict, interval) {
    n = 0
    for (r = 1; r <= rounds; r++)
        if (value[mount, r, "quickfix", metric] > 0 && value[mount, r, "pickfs", metric] > 0)
            ratios[++n] = value[mount, r, "pickfs", metric] / value[mount, r, "quickfix", metric]
    if (!n) return
    ordered(ratios, n)
    k = rank(n)
    interval = k ? sprintf("%.3f to %.3f", ratios[k], ratios[n + 1 - k]) : "-"
    verdict = target ? sprintf("at most %g: %s", target, judged(ratios, n, k, target)) : ""
    printf "%-6s %-20s %12.0f %12.0f %8.3f %8.3f %8.3f   %-18s %s\n", mount, metric, median_of(mount, "pickfs", metric), \
        median_of(mount, "quickfix", metric), ratios[1], middle(ratios, n), ratios[n], interval, verdict
}

# Ours alone: minimum, median and maximum over rounds.
function plain(mount, metric, target,    n, k, values, verdict) {
    n = all_of(mount, "pickfs", metric, values)
    if (!n) return
    k = rank(n)
    verdict = target ? sprintf("at most %d ns: %s", target, judged(values, n, k, target)) : ""
    printf "%-6s %-20s %12.0f %12s %8.0f %8s %8.0f   %-18s %s\n", mount, metric, middle(values, n), "-", values[1], "-", values[n], \
        k ? sprintf("%.0f to %.0f", values[k], values[n + 1 - k]) : "-", verdict
}

function judged(values, n, k, target) {
    if (!k) return "not decided"
    return values[n + 1 - k] <= target ? "met" : values[k] > target ? "missed" : "not decided"
}

# Block-paired ratios of the queue: reads `mount round program metric value`, prints ours against Chronicle's, and write to
# read against one way of a line of the cache.
#
# A ratio is taken within a round only. Its interval is exact and needs no model: the k-th smallest and k-th largest of
# n ratios hold the median with at least 95 % (sign test). Under six rounds there is no such interval, and nothing is
# decided. A target with `most` is met when the interval lies below it, one with `least` when it lies above.

{
    if (!($1 in seen)) { seen[$1] = 1; mounts[++mount_count] = $1 }
    if ($2 > rounds) rounds = $2
    value[$1, $2, $3, $4] = $5
}

END {
    printf "%-6s %-20s %12s %12s %8s %8s %8s   %-18s %s\n", "mount", "metric", "ours", "theirs", "min", "ratio", "max", "95 % of the ratio", "target"
    for (m = 1; m <= mount_count; m++) {
        is_disk = mounts[m] == "ext4" || mounts[m] == "xfs"
        row(mounts[m], "append_p50_ns", "most", 0.5)
        row(mounts[m], "append_p99_ns", "most", is_disk ? 1 : 0)
        row(mounts[m], "append_p999_ns", "most", is_disk ? 1 : 0)
        row(mounts[m], "append_p9999_ns", "most", is_disk ? 0.1 : 0)
        row(mounts[m], "write_to_read_p50_ns", "most", 0.5)
        against_limit(mounts[m])
        row(mounts[m], "write_to_read_p99_ns", "most", 0)
        row(mounts[m], "write_to_read_p999_ns", "most", 0)
        row(mounts[m], "throughput_per_s", "least", 4)
        row(mounts[m], "achieved_per_s", "least", 0)
        plain(mounts[m], "late_share")
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

function median_of(mount, program, metric,    r, n, values) {
    n = 0
    for (r = 1; r <= rounds; r++) if ((mount, r, program, metric) in value) values[++n] = value[mount, r, program, metric]
    if (!n) return 0
    ordered(values, n)
    return middle(values, n)
}

function row(mount, metric, kind, target) { compare(mount, metric, metric, "chronicle", metric, kind, target) }

# The limit is measured in our own turns.
function against_limit(mount) {
    compare(mount, "write_to_read / limit", "write_to_read_p50_ns", "pickfs", "one_way_ns", "most", 2)
}

function compare(mount, name, metric, program, other, kind, target,    r, n, k, ratios, verdict, interval) {
    n = 0
    for (r = 1; r <= rounds; r++)
        if (value[mount, r, program, other] > 0 && value[mount, r, "pickfs", metric] > 0)
            ratios[++n] = value[mount, r, "pickfs", metric] / value[mount, r, program, other]
    if (!n) return
    ordered(ratios, n)
    k = rank(n)
    interval = k ? sprintf("%.3f to %.3f", ratios[k], ratios[n + 1 - k]) : "-"
    verdict = target ? sprintf("at %s %g: %s", kind, target, judged(ratios, n, k, kind, target)) : ""
    printf "%-6s %-21s %11.0f %12.0f %8.3f %8.3f %8.3f   %-18s %s\n", mount, name, median_of(mount, "pickfs", metric), \
        median_of(mount, program, other), ratios[1], middle(ratios, n), ratios[n], interval, verdict
}

function judged(ratios, n, k, kind, target) {
    if (!k) return "not decided"
    if (kind == "most") return ratios[n + 1 - k] <= target ? "met" : ratios[k] > target ? "missed" : "not decided"
    return ratios[k] >= target ? "met" : ratios[n + 1 - k] < target ? "missed" : "not decided"
}

function plain(mount, metric) {
    printf "%-6s %-20s %12.4f %12.4f\n", mount, metric, median_of(mount, "pickfs", metric), median_of(mount, "chronicle", metric)
}

# Reads `mount round program measure value` with programs `pickfs` and `tool`; prints the ratio of the two within rounds.
# The k-th smallest and largest of n ratios hold the median with at least 95 % (sign test). Under six rounds nothing is decided.

{
    key = $1 " " $4
    if (!(key in seen)) { seen[key] = 1; keys[++key_count] = key }
    value[key, $2, $3] = $5
    if ($2 > rounds) rounds = $2
}

END {
    printf "%-28s %6s %8s %8s %8s   %-18s %s\n", "mount, measure", "rounds", "min", "median", "max", "95 % of the median", "agrees"
    for (k = 1; k <= key_count; k++) ratio(keys[k])
}

function ratio(key,    r, n, i, j, t, v, cut, low, high) {
    n = 0
    for (r = 1; r <= rounds; r++)
        if (value[key, r, "tool"] > 0 && value[key, r, "pickfs"] > 0)
            v[++n] = value[key, r, "pickfs"] / value[key, r, "tool"]
    for (i = 2; i <= n; i++) { t = v[i]; for (j = i - 1; j > 0 && v[j] > t; j--) v[j + 1] = v[j]; v[j + 1] = t }
    cut = sign_test_cut(n)
    if (n == 0) return
    low = cut > 0 ? v[cut] : 0
    high = cut > 0 ? v[n + 1 - cut] : 0
    printf "%-28s %6d %8.3f %8.3f %8.3f   ", key, n, v[1], n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2, v[n]
    if (cut == 0) print "not decided"
    else printf "%-18s %s\n", sprintf("[%.3f, %.3f]", low, high), (low <= 1 && high >= 1) ? "yes" : "no"
}

# Largest k for which P(fewer than k of n) under a fair coin is at most 2.5 %; 0 where there is none.
function sign_test_cut(n,    k, sum, term) {
    sum = term = 0.5 ^ n
    for (k = 0; sum <= 0.025 && k < n; k++) { term *= (n - k) / (k + 1); sum += term }
    return k
}

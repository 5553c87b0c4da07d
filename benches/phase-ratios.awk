# Medians of each phase's rate: reads `mount round program phase seconds` with tabs, prints theirs, ours
# and ours over theirs. A phase under 0.9 is marked. For `all` the times are compared: ours over theirs.

{
    if (!(($1) in seen_mount)) { seen_mount[$1] = 1; mounts[++mount_count] = $1 }
    if (!(($4) in seen_phase)) { seen_phase[$4] = 1; phases[++phase_count] = $4 }
    if ($2 > rounds) rounds = $2
    seconds[$1, $2, $3, $4] = $5
}

END {
    printf "%-6s %-12s %7s  %-34s %-34s %6s\n", "mount", "phase", "unit", "bonnie++ [least, most]", "pickfs [least, most]", "ratio"
    for (m = 1; m <= mount_count; m++) {
        for (p = 1; p <= phase_count; p++) if (phases[p] != "all") row(mounts[m], phases[p])
        row(mounts[m], "all")
    }
    printf "\n%d of %d phases under 0.9\n", under, compared
}

function row(mount, phase,    n, k, theirs, ours, ratio, mark) {
    n = column(mount, phase, "bonnie", theirs)
    k = column(mount, phase, "pickfs", ours)
    if (n == 0 || k == 0) return
    ratio = median(ours, k) / median(theirs, n)
    if (phase == "all") mark = ratio > 1 ? "  LONGER" : ""
    else { compared++; if (ratio < 0.9) { mark = "  UNDER 0.9"; under++ } }
    printf "%-6s %-12s %7s  %-34s %-34s %6.2f%s\n", mount, phase, unit(phase), cell(theirs, n), cell(ours, k), ratio, mark
}

function cell(values, n) {
    return sprintf("%s [%s, %s]", short(median(values, n)), short(values[1]), short(values[n]))
}

function short(value) { return value < 100 ? sprintf("%.1f", value) : sprintf("%.0f", value) }

function unit(phase) {
    if (phase == "all") return "s"
    if (phase ~ /^char|^block|^rewrite/) return "KiB/s"
    return phase == "seeks" ? "/s" : "files/s"
}

# What a phase does, in its unit.
function work(phase) {
    if (phase ~ /^char/) return char_mib * 1024
    if (phase ~ /^block|^rewrite/) return size_mib * 1024
    return phase == "seeks" ? seeks : files
}

function column(mount, phase, program, values,    r, n, s) {
    n = 0
    for (r = 1; r <= rounds; r++) {
        s = seconds[mount, r, program, phase]
        if (s > 0) values[++n] = phase == "all" ? s : work(phase) / s
    }
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
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
}

# Sourced by the scripts that run one trial by the protocol of the worker: a TrialSpec, its answer `ready`, the word
# `go`, its results. `$pickfs` names the program.

# trial WORKLOAD VERSION DIRECTORY WARMUP_S MEASURE_S CPU HELPER_CPU [PARAMETER=VALUE ...]: the worker's lines. CPUs may
# be null; a value is JSON, or else a text.
trial() {
    local workload=$1 version=$2 directory=$3 warmup=$4 seconds=$5 cpu=$6 helper=$7
    shift 7
    {
        jq -nc --arg workload "$workload" --argjson version "$version" --arg directory "$directory" \
            --argjson warmup "$warmup" --argjson seconds "$seconds" --argjson cpu "$cpu" --argjson helper "$helper" '{
            format: 1, build: "", directory: $directory, role: "appender", lane: 0, seed: 7,
            warmup_ns: ($warmup * 1e9 | floor), warmup_bytes: 0, measure_ns: ($seconds * 1e9 | floor),
            cpu: $cpu, helper_cpu: $helper, spikes_max: 100, drop_caches: false,
            workload: {name: $workload, version: $version, params: ([$ARGS.positional[]
                | index("=") as $at | .[$at + 1:] as $text
                | {key: .[:$at], value: (try ($text | fromjson) catch $text)}] | from_entries)}}' --args "$@"
        echo go
    } | "$pickfs" worker | jq -c 'if .event == "failed" or .event == "skipped" then error("worker: \(.reason)") else . end'
}

# Each quantile of each operation as `append_p50_ns VALUE`, with a tab between them.
quantiles() {
    jq -r 'select(.event == "op") | (.op | gsub("-"; "_")) as $op
        | ({"0.5": "p50", "0.9": "p90", "0.99": "p99", "0.999": "p999", "0.9999": "p9999"} as $words
           | .service.quantiles[] | $words[.q | tostring] as $word | select($word) | "\($op)_\($word)_ns\t\(.value_ns)"),
          "\($op)_max_ns\t\(.service.max_ns)", "\($op)_operations\t\(.service.count)"'
}

//! A job file may come from an enemy and fio may run as root, so this is a list of what is taken:
//! no option in it names a path, program, device, host or user, but `directory` and `filename`,
//! which are led into the mount.
//! Source: fio(1), and options.c of fio 3.33: `$` begins a variable or a keyword that is given to a
//! shell, `'` a file with a pattern, `:` behind `mem` a file to map.

use super::job_file::plain_names;

const PLAIN: &str = "rw readwrite rw_sequencer bs blocksize ba blockalign bsrange blocksize_range bssplit \
    bs_unaligned blocksize_unaligned bs_is_seq_rand size io_size io_limit filesize fill_device fill_fs \
    file_append offset fileoffset offset_increment offset_align number_ios loops \
    iodepth iodepth_batch iodepth_batch_submit iodepth_batch_complete iodepth_batch_complete_min \
    iodepth_batch_complete_max iodepth_low io_submit_mode serialize_overlap \
    userspace_reap nowait hipri hipri_percentage fixedbufs registerfiles sqthread_poll sqthread_poll_cpu \
    nonvectored uncached force_async cmdprio_percentage cmdprio cmdprio_class cmdprio_bssplit thp \
    direct buffered atomic sync fsync fdatasync sync_file_range write_barrier end_fsync fsync_on_close \
    create_serialize create_fsync create_on_open create_only pre_read overwrite unlink unlink_each_loop \
    unique_filename lockfile fallocate fadvise_hint write_hint invalidate \
    nrfiles nr_files openfiles file_service_type numjobs thread group_reporting new_group \
    stonewall wait_for_previous wait_for exitall exit_what exitall_on_error continue_on_error ignore_error \
    runtime timeout time_based ramp_time startdelay start_delay \
    rate rate_min ratemin rate_iops rate_iops_min rate_process rate_cycle ratecycle rate_ignore_thinktime \
    thinktime thinktime_spin thinktime_blocks thinktime_blocks_type thinktime_iotime \
    max_latency latency_target latency_window latency_percentile latency_run flow flow_id flow_sleep \
    rwmixread rwmixwrite percentage_random random_distribution random_generator randrepeat allrandrepeat \
    randseed norandommap softrandommap use_os_rand \
    verify do_verify verify_only verify_interval verify_offset verify_pattern verify_fatal verify_async \
    verify_async_cpus verify_backlog verify_backlog_batch experimental_verify \
    trim_percentage trim_verify_zero trim_backlog trim_backlog_batch \
    zero_buffers refill_buffers scramble_buffers buffer_pattern buffer_compress_percentage \
    buffer_compress_chunk dedupe_percentage dedupe_mode dedupe_working_set_percentage dedupe_global \
    zonemode zonesize zonecapacity zonerange zoneskip iomem_align mem_align hugepage-size lockmem \
    cpumask cpus_allowed cpus_allowed_policy numa_cpu_nodes numa_mem_policy nice prio prioclass clocksource \
    gtod_reduce gtod_cpu disable_lat disable_clat disable_slat disable_bw disable_bw_measurement \
    lat_percentiles clat_percentiles slat_percentiles percentile_list significant_figures \
    unified_rw_reporting kb_base unit_base disk_util description \
    steadystate ss steadystate_duration ss_dur steadystate_ramp_time ss_ramp";
/// Those whose values have a `/` that begins no path: `4k/60`.
const WITH_SHARES: &str = "bssplit cmdprio_bssplit random_distribution description";
const ENGINES: &str = "sync psync vsync pvsync pvsync2 mmap splice libaio posixaio io_uring falloc ftruncate \
    filecreate filestat filedelete null";
const MEMORY: &str = "malloc shm shmhuge mmap mmapshared";

fn is_among(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

pub(super) fn is_known(name: &str) -> bool {
    is_among("directory filename ioengine mem iomem", name) || is_among(PLAIN, name)
}

pub(super) fn refused_value(name: &str, value: &str) -> Option<String> {
    let words = match name {
        // None of it is used.
        "directory" => return None,
        "ioengine" => Some(ENGINES),
        "mem" | "iomem" => Some(MEMORY),
        _ => None,
    };
    let names = || plain_names(value);
    match () {
        () if value.contains('$') => Some("fio would expand it; write the value itself".into()),
        () if value.contains(['\'', '`']) => {
            Some("fio would take it for a file; write no quote".into())
        }
        () if words.is_some_and(|words| !is_among(words, value)) => {
            Some(format!("take one of {}", words.unwrap_or_default()))
        }
        () if name == "filename" => {
            let is_none = |name: &str| matches!(name, "" | "-" | "." | "..");
            names().split(':').any(is_none).then(|| "it names a directory; name a file".into())
        }
        () if value.contains('/') && !is_among(WITH_SHARES, name) => {
            Some("it names a place; write a value without `/`".into())
        }
        () => None,
    }
}

/// Why a section cannot have this name. fio opens a device of that name, and reads each name that begins
/// with `global` as that section.
pub(super) fn refused_section(name: &str) -> Option<&'static str> {
    match () {
        () if name.contains(['/', '$', '\\']) || matches!(name, "" | "." | ".." | "-") => {
            Some("fio makes a file name of it; take a plain word")
        }
        () if name.starts_with("global") && name != "global" => {
            Some("fio reads it as [global]; take another word")
        }
        () if name.len() > 200 => Some("fio cuts it; take at most 200 bytes"),
        () => None,
    }
}

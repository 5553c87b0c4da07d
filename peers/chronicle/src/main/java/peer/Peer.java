package peer;

import java.io.File;
import java.io.FileNotFoundException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import net.openhft.affinity.Affinity;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.queue.ChronicleQueue;
import net.openhft.chronicle.queue.ExcerptAppender;
import net.openhft.chronicle.queue.ExcerptTailer;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramLogWriter;
import org.HdrHistogram.IntCountsHistogram;

/**
 * Appends on a fixed grid and reads on another thread; prints quantiles of both.
 *
 * <p>The grid never moves: a message that is late keeps its due time, and how many were sent late is counted.
 */
public final class Peer {
    private static final double[] QUANTILES = {50, 90, 99, 99.9, 99.99};
    private static final String[] NAMES = {"p50", "p90", "p99", "p999", "p9999"};
    private static final long LATE_NS = 1_000;
    private static final Set<String> WORDS = Set.of("--rate", "--size", "--warmup-s", "--measure-s", "--log");

    /** The same as ours has in the comparison. */
    private static final int APPENDER_CPU = 0;

    private static final int TAILER_CPU = 1;

    /** Longest lap that a histogram keeps, in nanoseconds. */
    private static final long LONGEST_NS = 60_000_000_000L;

    private final String directory;
    private final int sizeBytes;
    private final double ratePerS;
    private final long warmupNs;
    private final long measureNs;

    /** One histogram for each second, made before anything is measured. */
    private static final class Laps {
        private final List<IntCountsHistogram> seconds = new ArrayList<>();

        Laps(long lengthNs) {
            for (long second = 0; second <= lengthNs / 1_000_000_000L; second++) {
                seconds.add(new IntCountsHistogram(LONGEST_NS, 3));
            }
        }

        /** What comes after the end belongs to the last second. */
        void record(long sinceNs, long ns) {
            int second = (int) Math.min(Math.max(sinceNs, 0) / 1_000_000_000L, seconds.size() - 1);
            seconds.get(second).recordValue(Math.min(ns, LONGEST_NS));
        }

        Histogram all() {
            Histogram all = new Histogram(LONGEST_NS, 3);
            seconds.forEach(all::add);
            return all;
        }
    }

    private final Map<String, Laps> laps = new LinkedHashMap<>();
    private final Laps append;
    private final Laps dueToAppend;
    private final Laps writeToRead;
    private final Laps dueToRead;
    private final String log;

    private volatile long measuredFrom;

    /** Messages that were sent in all, once that is known. */
    private final AtomicLong sent = new AtomicLong(-1);

    private Peer(String directory, Map<String, String> words) {
        this.directory = directory;
        sizeBytes = Integer.parseInt(words.getOrDefault("--size", "256"));
        ratePerS = Double.parseDouble(words.getOrDefault("--rate", "10000"));
        warmupNs = seconds(words.getOrDefault("--warmup-s", "5"));
        measureNs = seconds(words.getOrDefault("--measure-s", "10"));
        log = words.get("--log");
        append = laps("append");
        dueToAppend = laps("due-to-append");
        writeToRead = laps("write-to-read");
        dueToRead = laps("due-to-read");
    }

    private Laps laps(String tag) {
        Laps made = new Laps(measureNs);
        laps.put(tag, made);
        return made;
    }

    private static long seconds(String text) {
        return (long) (Double.parseDouble(text) * 1e9);
    }

    public static void main(String[] args) throws InterruptedException, FileNotFoundException {
        Map<String, String> words = new HashMap<>();
        for (int at = 2; at + 1 < args.length; at += 2) {
            words.put(args[at], args[at + 1]);
        }
        if (args.length < 2 || args.length % 2 != 0 || !WORDS.containsAll(words.keySet())) {
            System.err.println("use: run latency|throughput DIR [--rate R] [--size N] [--warmup-s S] [--measure-s S] [--log FILE]");
            System.exit(2);
        }
        Peer peer = new Peer(args[1], words);
        if (args[0].equals("throughput")) {
            peer.throughput();
        } else {
            peer.latency();
        }
    }

    private static void pin(int cpu) {
        if (Runtime.getRuntime().availableProcessors() > 1) {
            Affinity.setAffinity(cpu);
        }
    }

    private ChronicleQueue open() {
        return ChronicleQueue.singleBuilder(new File(directory)).build();
    }

    private void latency() throws InterruptedException, FileNotFoundException {
        // The tailer's instance first, so that it stands at the beginning.
        ChronicleQueue reading = open();
        Thread tailer = new Thread(() -> tail(reading), "tailer");
        tailer.start();
        pin(APPENDER_CPU);
        try (ChronicleQueue writing = open()) {
            appendOnGrid(writing.createAppender());
        }
        tailer.join();
        print("append", append.all());
        print("write_to_read", writeToRead.all());
        print("due_to_read", dueToRead.all());
        if (log != null) {
            write(log);
        }
    }

    private void write(String path) throws FileNotFoundException {
        HistogramLogWriter writer = new HistogramLogWriter(path);
        writer.outputLogFormatVersion();
        writer.outputLegend();
        long startMs = System.currentTimeMillis() - measureNs / 1_000_000;
        laps.forEach((tag, made) -> {
            for (int second = 0; second < made.seconds.size(); second++) {
                IntCountsHistogram one = made.seconds.get(second);
                one.setTag(tag);
                one.setStartTimeStamp(startMs + second * 1_000L);
                one.setEndTimeStamp(startMs + (second + 1) * 1_000L);
                writer.outputIntervalHistogram(one);
            }
        });
        writer.close();
    }

    /** One message: due, start (0 in the warm-up), and filling. */
    private void appendOnGrid(ExcerptAppender appender) {
        Bytes<?> message = Bytes.allocateElasticDirect(sizeBytes);
        long began = System.nanoTime() + 1_000_000;
        measuredFrom = began + warmupNs;
        long end = measuredFrom + measureNs;
        long count = 0;
        long measured = 0;
        long late = 0;
        long last = began;
        while (true) {
            long due = began + (long) (count * 1e9 / ratePerS);
            if (due >= end || last >= end) {
                break;
            }
            long start = System.nanoTime();
            while (start < due) {
                Thread.onSpinWait();
                start = System.nanoTime();
            }
            boolean isMeasured = due >= measuredFrom;
            message.clear();
            message.writeLong(due);
            message.writeLong(isMeasured ? start : 0);
            message.writePosition(sizeBytes);
            appender.writeBytes(message);
            last = System.nanoTime();
            count++;
            if (isMeasured) {
                append.record(last - measuredFrom, last - start);
                dueToAppend.record(last - measuredFrom, last - due);
                measured++;
                late += start - due > LATE_NS ? 1 : 0;
            }
        }
        sent.set(count);
        double lengthS = Math.max(last - measuredFrom, measureNs) / 1e9;
        System.out.printf("achieved_per_s\t%.1f%n", measured / lengthS);
        System.out.printf("late_share\t%.5f%n", (double) late / Math.max(measured, 1));
        message.releaseLast();
    }

    private void tail(ChronicleQueue queue) {
        pin(TAILER_CPU);
        Bytes<?> message = Bytes.allocateElasticDirect(sizeBytes);
        ExcerptTailer tailer = queue.createTailer();
        long count = 0;
        while (count != sent.get()) {
            message.clear();
            if (!tailer.readBytes(message)) {
                Thread.onSpinWait();
                continue;
            }
            long now = System.nanoTime();
            count++;
            long due = message.readLong();
            long start = message.readLong();
            if (start != 0) {
                writeToRead.record(now - measuredFrom, now - start);
                dueToRead.record(now - measuredFrom, now - due);
            }
        }
        queue.close();
        message.releaseLast();
    }

    /** One thread, one message after the other, without a reader. */
    private void throughput() {
        pin(APPENDER_CPU);
        Bytes<?> message = Bytes.allocateElasticDirect(sizeBytes);
        message.writePosition(sizeBytes);
        try (ChronicleQueue queue = open()) {
            ExcerptAppender appender = queue.createAppender();
            appendFor(appender, message, warmupNs);
            long began = System.nanoTime();
            long count = appendFor(appender, message, measureNs);
            double lengthS = (System.nanoTime() - began) / 1e9;
            System.out.printf("throughput_per_s\t%.1f%n", count / lengthS);
        }
        message.releaseLast();
    }

    private long appendFor(ExcerptAppender appender, Bytes<?> message, long lengthNs) {
        long end = System.nanoTime() + lengthNs;
        long count = 0;
        while (System.nanoTime() < end) {
            message.readPosition(0);
            message.writePosition(sizeBytes);
            appender.writeBytes(message);
            count++;
        }
        return count;
    }

    private static void print(String name, Histogram laps) {
        for (int at = 0; at < QUANTILES.length; at++) {
            System.out.printf("%s_%s_ns\t%d%n", name, NAMES[at], laps.getValueAtPercentile(QUANTILES[at]));
        }
        System.out.printf("%s_max_ns\t%d%n", name, laps.getMaxValue());
        System.out.printf("%s_laps\t%d%n", name, laps.getTotalCount());
    }
}

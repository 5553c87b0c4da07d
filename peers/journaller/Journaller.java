import java.io.IOException;
import java.io.PrintStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Base64;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.zip.Deflater;

/**
 * Appends on a fixed grid and logs how long each call took: from its beginning, and from when it was due. Nothing is
 * allocated while it measures: a histogram for each second is there before.
 */
public final class Journaller {
    private static final long WINDOW_BYTES = 1L << 30;
    private static final Set<String> WORDS = Set.of("--rate", "--seconds", "--warmup-s", "--size", "--sync");

    /** One append, and the sync that makes it durable. */
    private interface Way {
        void append() throws IOException;

        void sync() throws IOException;
    }

    /** HdrHistogram's buckets with three digits, up to 2^36 ns, which is a minute. */
    private static final class Laps {
        private static final int HALF_BITS = 10;
        private static final int COUNTERS = (36 - HALF_BITS + 1) << HALF_BITS;

        private final int[] counters = new int[COUNTERS];
        private long longestNs;

        void record(long ns) {
            longestNs = Math.max(longestNs, ns);
            long value = Math.min(Math.max(ns, 0), (1L << 36) - 1);
            int bucket = Math.max(63 - HALF_BITS - Long.numberOfLeadingZeros(value | 1), 0);
            counters[(bucket << HALF_BITS) + (int) (value >>> bucket)]++;
        }

        /** HdrHistogram's V2 bytes: numbers of seven bits a byte, runs of empty counters as negatives. */
        private byte[] plain() {
            ByteBuffer out = ByteBuffer.allocate(40 + 5 * COUNTERS);
            out.putInt(0x1c849313).putInt(0).putInt(0).putInt(3).putLong(1).putLong((1L << 36) - 1).putDouble(1.0);
            int empty = 0;
            for (int counter : counters) {
                if (counter == 0) {
                    empty++;
                    continue;
                }
                if (empty > 0) {
                    number(out, -empty);
                    empty = 0;
                }
                number(out, counter);
            }
            out.putInt(4, out.position() - 40);
            byte[] bytes = new byte[out.flip().remaining()];
            out.get(bytes);
            return bytes;
        }

        private static void number(ByteBuffer out, long number) {
            long rest = number << 1 ^ number >> 63;
            while (rest > 127) {
                out.put((byte) (rest | 128));
                rest >>>= 7;
            }
            out.put((byte) rest);
        }

        String packed() {
            byte[] plain = plain();
            byte[] room = new byte[plain.length + 64];
            Deflater deflater = new Deflater();
            deflater.setInput(plain);
            deflater.finish();
            int length = deflater.deflate(room);
            ByteBuffer out = ByteBuffer.allocate(8 + length);
            out.putInt(0x1c849314).putInt(length).put(room, 0, length);
            return Base64.getEncoder().encodeToString(out.array());
        }
    }

    private static Way way(String name, RandomAccessFile file, byte[] record) throws IOException {
        FileChannel channel = file.getChannel();
        ByteBuffer direct = ByteBuffer.allocateDirect(record.length).put(record);
        return switch (name) {
            case "seek-write" -> new Way() {
                private long end;

                public void append() throws IOException {
                    file.seek(end);
                    file.write(record);
                    end += record.length;
                }

                public void sync() throws IOException {
                    channel.force(false);
                }
            };
            case "pwrite" -> new Way() {
                private long end;

                public void append() throws IOException {
                    direct.clear();
                    end += channel.write(direct, end);
                }

                public void sync() throws IOException {
                    channel.force(false);
                }
            };
            case "mmap" -> new Way() {
                private long mapped;
                private MappedByteBuffer window = map();

                private MappedByteBuffer map() throws IOException {
                    MappedByteBuffer next = channel.map(FileChannel.MapMode.READ_WRITE, mapped, WINDOW_BYTES);
                    mapped += WINDOW_BYTES;
                    return next;
                }

                public void append() throws IOException {
                    if (window.remaining() < record.length) {
                        window = map();
                    }
                    window.put(record);
                }

                public void sync() {
                    window.force();
                }
            };
            default -> throw new IllegalArgumentException("no way " + name + ": seek-write, pwrite or mmap");
        };
    }

    public static void main(String[] args) throws IOException {
        Map<String, String> words = new HashMap<>();
        for (int at = 1; at + 1 < args.length; at += 2) {
            words.put(args[at], args[at + 1]);
        }
        if (args.length % 2 == 0 || !WORDS.containsAll(words.keySet())) {
            System.err.println("use: run seek-write|pwrite|mmap [--rate R] [--seconds S] [--warmup-s S] [--size BYTES] [--sync none|fdatasync]");
            System.exit(2);
        }
        double everyNs = 1e9 / Double.parseDouble(words.getOrDefault("--rate", "10000"));
        int seconds = Integer.parseInt(words.getOrDefault("--seconds", "10"));
        int warmup = Integer.parseInt(words.getOrDefault("--warmup-s", "5"));
        byte[] record = new byte[Integer.parseInt(words.getOrDefault("--size", "256"))];
        boolean syncs = !words.getOrDefault("--sync", "none").equals("none");
        new Random(7).nextBytes(record);
        Laps[] service = new Laps[seconds + 1];
        Laps[] response = new Laps[seconds + 1];
        for (int second = 0; second <= seconds; second++) {
            service[second] = new Laps();
            response[second] = new Laps();
        }
        long startMs;
        try (RandomAccessFile file = new RandomAccessFile("journal", "rw")) {
            // Of a run before: each one appends.
            file.setLength(0);
            Way way = way(args[0], file, record);
            Laps thrownAway = new Laps();
            append(way, syncs, everyNs, warmup, new Laps[] {thrownAway}, new Laps[] {thrownAway});
            startMs = System.currentTimeMillis();
            append(way, syncs, everyNs, seconds, service, response);
        }
        write(startMs, service, response);
    }

    /** The grid never moves: an append that is late keeps its due time. What begins behind the end goes to the last second. */
    private static void append(Way way, boolean syncs, double everyNs, int seconds, Laps[] service, Laps[] response)
            throws IOException {
        long began = System.nanoTime();
        long lengthNs = seconds * 1_000_000_000L;
        for (long count = 0; ; count++) {
            long sinceNs = (long) (count * everyNs);
            if (sinceNs >= lengthNs) {
                return;
            }
            long due = began + sinceNs;
            long start = System.nanoTime();
            while (start < due) {
                Thread.onSpinWait();
                start = System.nanoTime();
            }
            way.append();
            if (syncs) {
                way.sync();
            }
            long end = System.nanoTime();
            int second = Math.min((int) ((end - began) / 1_000_000_000L), service.length - 1);
            service[second].record(end - start);
            response[second].record(end - due);
        }
    }

    private static void write(long startMs, Laps[] service, Laps[] response) throws IOException {
        try (PrintStream out = new PrintStream("append.hlog")) {
            out.println("#[Histogram log format version 1.3]");
            out.println("\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"");
            for (int second = 0; second < service.length; second++) {
                line(out, "service", startMs / 1e3 + second, service[second]);
                line(out, "response", startMs / 1e3 + second, response[second]);
            }
        }
    }

    private static void line(PrintStream out, String tag, double startS, Laps laps) {
        if (laps.longestNs > 0) {
            out.printf(Locale.ROOT, "Tag=%s,%.3f,1.000,%.3f,%s%n", tag, startS, laps.longestNs / 1e6, laps.packed());
        }
    }
}

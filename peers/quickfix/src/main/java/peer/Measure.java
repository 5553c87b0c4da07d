package peer;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.HdrHistogram.HistogramLogWriter;
import org.HdrHistogram.IntCountsHistogram;
import quickfix.Application;
import quickfix.DefaultMessageFactory;
import quickfix.FieldNotFound;
import quickfix.LogFactory;
import quickfix.MemoryStoreFactory;
import quickfix.Message;
import quickfix.Session;
import quickfix.SessionID;
import quickfix.SessionSettings;
import quickfix.SocketInitiator;
import quickfix.field.ClOrdID;
import quickfix.fix44.NewOrderSingle;

/** A client that sends orders on a grid that never moves, and logs their round trips through an acceptor beside it. */
final class Measure implements Application {
    private static final long LONGEST_NS = 60_000_000_000L;
    private static final Set<String> WORDS = Set.of("--rate", "--warmup-s", "--measure-s", "--log");

    private final long everyNs;
    private final long warmupNs;
    private final int orders;
    private final AtomicLongArray sent;
    private final AtomicLong answered = new AtomicLong();
    private final IntCountsHistogram[] service;
    private final IntCountsHistogram[] response;
    private volatile SessionID session;
    private volatile long began;

    private Measure(double rate, int warmup, int seconds) {
        everyNs = (long) (1e9 / rate);
        warmupNs = warmup * 1_000_000_000L;
        orders = (int) ((warmup + seconds) * rate);
        sent = new AtomicLongArray(orders);
        service = new IntCountsHistogram[seconds + 1];
        response = new IntCountsHistogram[seconds + 1];
        for (int second = 0; second <= seconds; second++) {
            service[second] = new IntCountsHistogram(LONGEST_NS, 3);
            response[second] = new IntCountsHistogram(LONGEST_NS, 3);
        }
    }

    static void run(String[] words) throws Exception {
        Map<String, String> asked = new HashMap<>();
        for (int at = 2; at + 1 < words.length; at += 2) {
            asked.put(words[at], words[at + 1]);
        }
        if (words.length % 2 != 0 || !WORDS.containsAll(asked.keySet())) {
            Peer.usage();
        }
        Measure measure = new Measure(Double.parseDouble(asked.getOrDefault("--rate", "1000")),
                Integer.parseInt(asked.getOrDefault("--warmup-s", "10")),
                Integer.parseInt(asked.getOrDefault("--measure-s", "10")));
        String port = freePort();
        Peer.accept(port, words[1]);
        SessionSettings settings = Peer.settings("initiator", "CLIENT", "PICKFS", port, words[1]);
        LogFactory noLog = null;
        SocketInitiator initiator =
                new SocketInitiator(measure, new MemoryStoreFactory(), settings, noLog, new DefaultMessageFactory());
        initiator.start();
        Peer.await("a logon", () -> measure.session != null);
        measure.send();
        Peer.await("every report", () -> measure.answered.get() == measure.orders);
        measure.write(asked.getOrDefault("--log", "fix.hlog"));
        System.exit(0);
    }

    private static String freePort() throws Exception {
        try (ServerSocket probe = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return Integer.toString(probe.getLocalPort());
        }
    }

    private void send() throws Exception {
        began = System.nanoTime();
        for (int number = 0; number < orders; number++) {
            NewOrderSingle order = Peer.newOrder(Integer.toString(number));
            while (System.nanoTime() - began < number * everyNs) {
                Thread.onSpinWait();
            }
            sent.set(number, System.nanoTime());
            if (!Session.sendToTarget(order, session)) {
                System.err.println("order " + number + " could not be sent: the session has ended");
                System.exit(1);
            }
        }
    }

    @Override
    public void fromApp(Message report, SessionID id) throws FieldNotFound {
        long now = System.nanoTime();
        int number = Integer.parseInt(report.getString(ClOrdID.FIELD));
        long sinceNs = now - began - warmupNs;
        if (number * everyNs >= warmupNs) {
            int second = (int) Math.min(Math.max(sinceNs, 0) / 1_000_000_000L, service.length - 1);
            service[second].recordValue(Math.min(now - sent.get(number), LONGEST_NS));
            response[second].recordValue(Math.min(now - began - number * everyNs, LONGEST_NS));
        }
        answered.incrementAndGet();
    }

    private void write(String path) throws Exception {
        HistogramLogWriter writer = new HistogramLogWriter(path);
        writer.outputLogFormatVersion();
        writer.outputLegend();
        long startMs = System.currentTimeMillis() - service.length * 1_000L;
        for (int second = 0; second < service.length; second++) {
            write(writer, "service", service[second], startMs + second * 1_000L);
            write(writer, "response", response[second], startMs + second * 1_000L);
        }
        writer.close();
    }

    private static void write(HistogramLogWriter writer, String tag, IntCountsHistogram one, long startMs) {
        one.setTag(tag);
        one.setStartTimeStamp(startMs);
        one.setEndTimeStamp(startMs + 1_000L);
        writer.outputIntervalHistogram(one);
    }

    @Override
    public void onLogon(SessionID id) {
        session = id;
    }

    @Override
    public void onCreate(SessionID id) {}

    @Override
    public void onLogout(SessionID id) {}

    @Override
    public void toAdmin(Message message, SessionID id) {}

    @Override
    public void fromAdmin(Message message, SessionID id) {}

    @Override
    public void toApp(Message message, SessionID id) {}
}

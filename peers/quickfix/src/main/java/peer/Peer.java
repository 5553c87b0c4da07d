package peer;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import quickfix.Application;
import quickfix.DefaultMessageFactory;
import quickfix.FieldNotFound;
import quickfix.FileStoreFactory;
import quickfix.LogFactory;
import quickfix.Message;
import quickfix.Session;
import quickfix.SessionID;
import quickfix.SessionNotFound;
import quickfix.SessionSettings;
import quickfix.SocketAcceptor;
import quickfix.SocketInitiator;
import quickfix.field.AvgPx;
import quickfix.field.ClOrdID;
import quickfix.field.CumQty;
import quickfix.field.ExecID;
import quickfix.field.ExecType;
import quickfix.field.LeavesQty;
import quickfix.field.MsgType;
import quickfix.field.OrdStatus;
import quickfix.field.OrdType;
import quickfix.field.OrderID;
import quickfix.field.OrderQty;
import quickfix.field.PossDupFlag;
import quickfix.field.Price;
import quickfix.field.Side;
import quickfix.field.Symbol;
import quickfix.field.TransactTime;
import quickfix.fix44.ExecutionReport;
import quickfix.fix44.NewOrderSingle;

/** QuickFIX/J as a client that checks an engine, or as an engine with its file store. */
public final class Peer implements Application {
    private static final long PATIENCE_MS = 20_000;

    private final AtomicInteger logons = new AtomicInteger();
    private final AtomicInteger reports = new AtomicInteger();
    private final AtomicInteger again = new AtomicInteger();
    private final AtomicInteger rejects = new AtomicInteger();
    private final boolean isEngine;
    private volatile SessionID session;
    private int orders;
    private long executions;

    private Peer(boolean isEngine) {
        this.isEngine = isEngine;
    }

    public static void main(String[] words) throws Exception {
        if (words.length >= 2 && words[0].equals("measure")) {
            Measure.run(words);
            return;
        }
        if (words.length != 3) {
            usage();
        }
        if (words[0].equals("serve")) {
            serve(words[1], words[2]);
        } else {
            new Peer(false).check(words[1], words[2]);
        }
    }

    static void usage() {
        System.err.println("use: run check|serve PORT DIR, or run measure DIR [--rate R] [--warmup-s S] [--measure-s S] [--log FILE]");
        System.exit(2);
    }

    static SessionSettings settings(String kind, String us, String peer, String port, String directory) throws Exception {
        String port_key = kind.equals("acceptor") ? "SocketAcceptPort" : "SocketConnectPort";
        String text = String.join("\n",
                "[default]", "ConnectionType=" + kind, "BeginString=FIX.4.4", "SenderCompID=" + us, "TargetCompID=" + peer,
                "NonStopSession=Y", "HeartBtInt=30", "ReconnectInterval=1", "UseDataDictionary=Y", "DataDictionary=FIX44.xml",
                "SocketConnectHost=127.0.0.1", "SocketAcceptAddress=127.0.0.1", port_key + "=" + port,
                "SocketTcpNoDelay=Y", "FileStorePath=" + directory, "[session]", "");
        return new SessionSettings(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
    }

    static SocketAcceptor accept(String port, String directory) throws Exception {
        SessionSettings settings = settings("acceptor", "PICKFS", "CLIENT", port, directory);
        LogFactory noLog = null;
        SocketAcceptor acceptor =
                new SocketAcceptor(new Peer(true), new FileStoreFactory(settings), settings, noLog, new DefaultMessageFactory());
        acceptor.start();
        return acceptor;
    }

    private static void serve(String port, String directory) throws Exception {
        accept(port, directory);
        System.out.println("listening on 127.0.0.1:" + port);
        Thread.currentThread().join();
    }

    private void check(String port, String directory) throws Exception {
        SessionSettings settings = settings("initiator", "CLIENT", "PICKFS", port, directory);
        LogFactory noLog = null;
        SocketInitiator initiator =
                new SocketInitiator(this, new FileStoreFactory(settings), settings, noLog, new DefaultMessageFactory());
        initiator.start();
        await("a logon", () -> logons.get() == 1);
        order(10);
        Session ours = Session.lookupSession(session);

        // Three numbers are skipped: the engine must ask for them, and then take the order.
        ours.setNextSenderMsgSeqNum(ours.getExpectedSenderNum() + 3);
        order(1);

        // Five numbers are forgotten, of which four are reports: the engine's next one is too early, and they must come
        // again.
        ours.setNextTargetMsgSeqNum(ours.getExpectedTargetNum() - 5);
        int before = reports.get();
        send();
        await("four reports again", () -> again.get() >= 4 && reports.get() >= before + 5);

        ours.disconnect("to come back", false);
        await("another logon", () -> logons.get() == 2);
        order(5);
        initiator.stop();
        System.out.printf("orders %d reports %d again %d logons %d rejects %d%n",
                orders, reports.get(), again.get(), logons.get(), rejects.get());
        System.exit(0);
    }

    static void await(String what, BooleanSupplier isThere) throws InterruptedException {
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        while (!isThere.getAsBoolean()) {
            if (System.currentTimeMillis() > deadline) {
                System.err.println("waited in vain for " + what);
                System.exit(1);
            }
            Thread.sleep(1);
        }
    }

    private void send() throws SessionNotFound {
        orders++;
        Session.sendToTarget(newOrder("q" + orders), session);
    }

    static NewOrderSingle newOrder(String id) {
        NewOrderSingle order = new NewOrderSingle(new ClOrdID(id), new Side(Side.BUY),
                new TransactTime(LocalDateTime.now(ZoneOffset.UTC)), new OrdType(OrdType.LIMIT));
        order.set(new Symbol("ACME"));
        order.set(new OrderQty(100));
        order.set(new Price(7.25));
        return order;
    }

    private void order(int count) throws SessionNotFound, InterruptedException {
        int wanted = reports.get() + count;
        for (int sent = 0; sent < count; sent++) {
            send();
        }
        await("reports", () -> reports.get() >= wanted);
    }

    @Override
    public void onLogon(SessionID id) {
        session = id;
        logons.incrementAndGet();
    }

    @Override
    public void fromApp(Message message, SessionID id) throws FieldNotFound {
        if (isEngine) {
            answer(message, id);
            return;
        }
        reports.incrementAndGet();
        if (message.getHeader().isSetField(PossDupFlag.FIELD) && message.getHeader().getBoolean(PossDupFlag.FIELD)) {
            again.incrementAndGet();
        }
    }

    private void answer(Message order, SessionID id) throws FieldNotFound {
        executions++;
        String number = Long.toString(executions);
        ExecutionReport report = new ExecutionReport(new OrderID(number), new ExecID(number), new ExecType(ExecType.NEW),
                new OrdStatus(OrdStatus.NEW), new Side(order.getChar(Side.FIELD)), new LeavesQty(order.getDouble(OrderQty.FIELD)),
                new CumQty(0), new AvgPx(0));
        report.set(new ClOrdID(order.getString(ClOrdID.FIELD)));
        report.set(new Symbol(order.getString(Symbol.FIELD)));
        report.set(new OrderQty(order.getDouble(OrderQty.FIELD)));
        report.set(new Price(order.getDouble(Price.FIELD)));
        report.set(new TransactTime(LocalDateTime.now(ZoneOffset.UTC)));
        try {
            Session.sendToTarget(report, id);
        } catch (SessionNotFound gone) {
            throw new IllegalStateException(gone);
        }
    }

    @Override
    public void fromAdmin(Message message, SessionID id) throws FieldNotFound {
        if (message.getHeader().getString(MsgType.FIELD).equals(MsgType.REJECT)) {
            rejects.incrementAndGet();
        }
    }

    @Override
    public void toAdmin(Message message, SessionID id) {
        try {
            if (message.getHeader().getString(MsgType.FIELD).equals(MsgType.REJECT)) {
                rejects.incrementAndGet();
            }
        } catch (FieldNotFound none) {
            throw new IllegalStateException(none);
        }
    }

    @Override
    public void onCreate(SessionID id) {}

    @Override
    public void onLogout(SessionID id) {}

    @Override
    public void toApp(Message message, SessionID id) {}
}

package io.kcp4j.load;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import picocli.CommandLine.Option;

/**
 * New clients: opens sessions one after another, each of which sends one message. Measures the time
 * until its echo arrives. One session is opened at once, to load the classes; the others begin with
 * the first report.
 */
final class Arrivals implements LoadReport {

  private static final int MESSAGE_BYTES = 50;

  @Option(
      names = "--arrivals",
      paramLabel = "N",
      defaultValue = "100",
      description = "New sessions to open (default: ${DEFAULT-VALUE}).")
  private int sessions;

  @Option(
      names = "--arrival-period",
      paramLabel = "MS",
      defaultValue = "50",
      description = "Time from one new session to the next (default: ${DEFAULT-VALUE}).")
  private int periodMs;

  private final RoundTripHistogram firstEchoes = new RoundTripHistogram();
  private final ScheduledExecutorService opener =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "arrivals");
            thread.setDaemon(true);
            return thread;
          });

  private Runnable open;
  private boolean isStarted;
  private int begun;

  /**
   * Opens the first session.
   *
   * @param session makes the handler of a channel
   */
  void start(
      LoadProtocol protocol,
      EventLoopGroup group,
      InetSocketAddress remote,
      Function<ChannelHandler, ChannelHandler> session) {
    open = () -> open(protocol, group, remote, session);
    opener.execute(open);
  }

  private void open(
      LoadProtocol protocol,
      EventLoopGroup group,
      InetSocketAddress remote,
      Function<ChannelHandler, ChannelHandler> session) {
    try {
      protocol.connect(group, remote, session.apply(new Client()));
    } catch (Exception e) {
      System.err.println("new session: " + e);
    }
  }

  private synchronized void openNext() {
    if (begun == sessions) {
      opener.shutdown();
    } else {
      begun++;
      open.run();
    }
  }

  /** How many sessions have begun, and the times until their echoes have arrived. */
  @Override
  public synchronized String toJson() {
    if (!isStarted) {
      isStarted = true;
      firstEchoes.toJson();
      opener.scheduleAtFixedRate(this::openNext, 0, periodMs, TimeUnit.MILLISECONDS);
    }
    return "{\"begun\":" + begun + ",\"first_echoes\":" + firstEchoes.toJson() + "}";
  }

  private final class Client extends LoadHandler {

    private final long beginNs = System.nanoTime();
    private int received;

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
      ctx.writeAndFlush(ctx.alloc().directBuffer(MESSAGE_BYTES).writeZero(MESSAGE_BYTES));
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object msg) {
      ByteBuf part = (ByteBuf) msg;
      received += part.readableBytes();
      part.release();
      if (received == MESSAGE_BYTES) {
        firstEchoes.add(System.nanoTime() - beginNs);
        ctx.close();
      }
    }
  }
}

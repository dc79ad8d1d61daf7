package io.kcp4j.lab;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kcp4j.KcpConfig;
import io.kcp4j.sim.VirtualTime;
import io.kcp4j.smux.SmuxException;
import io.kcp4j.smux.SmuxStream;
import io.kcp4j.smux.SmuxStreamListener;
import io.kcp4j.smux.SmuxStreamSource;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayDeque;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Small messages beside a transfer that takes all of a limited rate, over KCP in virtual time. */
class SmuxLatencyTest {

  private static final int ONE_WAY_US = 10_000;
  private static final int BYTES_PER_SECOND = 2_000_000;
  private static final int MESSAGE_BYTES = 50;

  /** 20 a second, and not in step with anything else. */
  private static final int INTERVAL_US = 50_310;

  private static final int SECONDS = 20;
  private static final int WARM_UP_SECONDS = 1;

  /** A transfer of {@value #SECONDS} seconds. */
  private static final class Run {

    final VirtualTime time = new VirtualTime();
    final SplittableRandom random = new SplittableRandom(7);
    final Latencies latencies = new Latencies();
    final SmuxHost client;
    final SmuxHost server;
    final ArrayDeque<Long> sentAtUs = new ArrayDeque<>();
    long bulkBytes;

    Run(LinkSettings link) {
      KcpConfig config = Variant.turbo().rateLimit(BYTES_PER_SECOND).build();
      client = new SmuxHost(time, config, true, stream -> null);
      server = new SmuxHost(time, config, false, Receiver::new);
      LabLink up = new LabLink(time, random.split(), link, server::received);
      LabLink down = new LabLink(time, random.split(), link, client::received);
      client.connect(up);
      server.connect(down);
    }

    void open(Sender sender) {
      try {
        sender.stream = client.session().open(sender, sender);
      } catch (SmuxException e) {
        throw new AssertionError(e);
      }
    }

    void send(Messages messages) {
      sentAtUs.add(time.nowUs());
      messages.unsent += MESSAGE_BYTES;
      messages.stream.outputReady();
      time.after(INTERVAL_US, () -> send(messages));
    }

    /** Bytes of the transfer a second. */
    double run() {
      time.runUntil(WARM_UP_SECONDS * 1_000_000L);
      long before = bulkBytes;
      time.runUntil((WARM_UP_SECONDS + SECONDS) * 1_000_000L);
      client.close();
      server.close();
      return (bulkBytes - before) / (double) SECONDS;
    }

    /** Of the first stream, the transfer, or of the second, the messages. */
    private final class Receiver implements SmuxStreamListener {

      final boolean isBulk;
      int messageBytes;

      Receiver(SmuxStream stream) {
        isBulk = stream.id() == 3;
      }

      @Override
      public void inputReady(SmuxStream stream) {
        for (ByteBuf data; (data = stream.read()) != null; data.release()) {
          received(data.readableBytes());
        }
      }

      private void received(int bytes) {
        if (isBulk) {
          bulkBytes += bytes;
          return;
        }
        for (messageBytes += bytes; messageBytes >= MESSAGE_BYTES; messageBytes -= MESSAGE_BYTES) {
          latencies.add(time.nowUs() - sentAtUs.remove());
        }
      }

      @Override
      public void outputStopped(SmuxStream stream, SmuxException cause) {}

      @Override
      public void outputEnded(SmuxStream stream) {}

      @Override
      public void failed(SmuxStream stream, Throwable cause) {}
    }
  }

  /** Sends zeros. */
  private abstract static class Sender implements SmuxStreamSource, SmuxStreamListener {

    SmuxStream stream;

    @Override
    public void inputReady(SmuxStream stream) {}

    @Override
    public void outputStopped(SmuxStream stream, SmuxException cause) {}

    @Override
    public void outputEnded(SmuxStream stream) {}

    @Override
    public void failed(SmuxStream stream, Throwable cause) {}
  }

  private static final class Bulk extends Sender {

    @Override
    public boolean isEmpty() {
      return false;
    }

    @Override
    public ByteBuf take(int maxBytes) {
      return Unpooled.wrappedBuffer(new byte[maxBytes]);
    }
  }

  private static final class Messages extends Sender {

    int unsent;

    @Override
    public boolean isEmpty() {
      return unsent == 0;
    }

    @Override
    public ByteBuf take(int maxBytes) {
      int bytes = Math.min(unsent, maxBytes);
      unsent -= bytes;
      return Unpooled.wrappedBuffer(new byte[bytes]);
    }
  }

  private static double alone(LinkSettings link) {
    Run run = new Run(link);
    run.open(new Bulk());
    return run.run();
  }

  @Test
  void transferTakesTheWholeRate() {
    double bytesPerSecond = alone(LinkSettings.delay(ONE_WAY_US));
    assertTrue(bytesPerSecond > 0.95 * BYTES_PER_SECOND, bytesPerSecond + " B/s");
  }

  @ParameterizedTest
  @ValueSource(doubles = {0, 0.01})
  void messagesAreFastAndTheTransferIsNotSlower(double loss) {
    LinkSettings link = LinkSettings.delay(ONE_WAY_US).withLoss(loss, 0);
    Run run = new Run(link);
    run.open(new Bulk());
    Messages messages = new Messages();
    run.open(messages);
    run.time.at(0, () -> run.send(messages));
    double bytesPerSecond = run.run();
    double alone = alone(link);
    long p50Us = run.latencies.quantileUs(0.5);
    String result =
        "p50 "
            + p50Us
            + " us, p99 "
            + run.latencies.quantileUs(0.99)
            + " us, "
            + bytesPerSecond
            + " B/s, alone "
            + alone
            + " B/s";
    assertTrue(p50Us <= ONE_WAY_US + 5_000, result);
    assertTrue(bytesPerSecond >= 0.95 * alone, result);
    assertTrue(run.latencies.count() >= SECONDS * 1_000_000 / INTERVAL_US, result);
    assertTrue(run.sentAtUs.size() <= 3, run.sentAtUs.size() + " messages have not arrived");
  }
}

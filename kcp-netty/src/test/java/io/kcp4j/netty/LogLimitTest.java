package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import io.kcp4j.crypto.Aead;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.internal.session.TimerWheel;
import io.kcp4j.netty.internal.LogLimit;
import io.kcp4j.netty.internal.endpoint.EventLoopContext;
import io.kcp4j.netty.internal.endpoint.KcpEndpoint;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.ResourceLock;

/**
 * {@link LogLimit}: unexpected exceptions are logged with their stack traces, at a limited rate.
 */
@ResourceLock(RecordedLog.LOCK)
class LogLimitTest {

  private final RecordedLog recorded = new RecordedLog();

  @AfterEach
  void stopRecording() {
    recorded.close();
  }

  private void assertOneWarningOf(Class<?> source) {
    List<ILoggingEvent> warnings = recorded.of(Level.WARN);
    assertEquals(1, warnings.size(), warnings::toString);
    assertEquals(source.getName(), warnings.get(0).getLoggerName());
    assertNotNull(warnings.get(0).getThrowableProxy());
  }

  @OverEachTransport
  void endpointLogsExceptionsOfTasksOnceInTenSeconds(TransportUnderTest transport)
      throws Exception {
    try (Fixture fixture = new Fixture(transport);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      AtomicInteger thrown = new AtomicInteger();
      KeyRing broken = KeyRing.of(PacketKey.ofAead("broken", () -> new BrokenAead(thrown)));
      fixture.bootstrap.option(KcpChannelOption.KEY_RING, broken);
      KcpChannel client = fixture.connectTo(peer.address(), new Recorder());
      for (int i = 1; i <= 3; i++) {
        int times = i;
        client.writeAndFlush(Fixture.buffer(client, new byte[10]));
        await().until(() -> thrown.get() >= times);
      }
      KcpEndpoint endpoint = client.endpoint();
      endpoint.execute(
          () -> {
            throw new IllegalStateException("task");
          });
      client.eventLoop().submit(() -> endpoint.socketFailed(new Error("read"))).sync();

      assertOneWarningOf(KcpEndpoint.class);
    }
  }

  @Test
  void eventLoopLogsExceptionsOfTimersOnceInTenSeconds() throws Exception {
    try (Fixture fixture = new Fixture(TransportUnderTest.NIO);
        UnresponsivePeer peer = new UnresponsivePeer()) {
      KcpChannel client = fixture.connectTo(peer.address(), new Recorder());
      AtomicInteger thrown = new AtomicInteger();
      client
          .eventLoop()
          .submit(
              () -> {
                client.endpoint().arm(new BrokenDeadline(thrown), 1_000);
                client.endpoint().arm(new BrokenDeadline(thrown), 1_000);
              })
          .sync();
      await().until(() -> thrown.get() == 2);
      client.eventLoop().submit(() -> {}).sync();

      assertOneWarningOf(EventLoopContext.class);
    }
  }

  @Test
  void lineHasTheNumberOfSuppressedOnes() {
    InternalLogger logger = InternalLoggerFactory.getInstance(LogLimitTest.class);
    LogLimit limit = new LogLimit();
    Exception cause = new Exception();
    for (int us : new int[] {5, 6, 4 + LogLimit.INTERVAL_US, 5 + LogLimit.INTERVAL_US}) {
      limit.warn(logger, "source", LogLimit.UNEXPECTED, cause, us);
    }
    limit.warn(logger, "source", LogLimit.UNEXPECTED, cause, 5 + 2 * LogLimit.INTERVAL_US);

    assertEquals(
        List.of(
            "source unexpected exception",
            "source unexpected exception (2 more were not logged)",
            "source unexpected exception"),
        recorded.messages(Level.WARN));
  }

  private static final class BrokenDeadline extends TimerWheel.Timer {
    private final AtomicInteger thrown;

    BrokenDeadline(AtomicInteger thrown) {
      this.thrown = thrown;
    }

    @Override
    protected void expire(long nowUs) {
      thrown.incrementAndGet();
      throw new IllegalStateException("deadline");
    }
  }

  private static final class BrokenAead implements Aead {
    private final AtomicInteger thrown;

    BrokenAead(AtomicInteger thrown) {
      this.thrown = thrown;
    }

    @Override
    public int nonceBytes() {
      return 12;
    }

    @Override
    public int tagBytes() {
      return 16;
    }

    @Override
    public void seal(byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      thrown.incrementAndGet();
      throw new IllegalStateException("sealing failed");
    }

    @Override
    public boolean open(
        byte[] nonce, byte[] in, int inIndex, int length, byte[] out, int outIndex) {
      return false;
    }
  }
}

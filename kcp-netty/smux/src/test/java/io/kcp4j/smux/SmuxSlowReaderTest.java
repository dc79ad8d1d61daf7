package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Two sessions of kcp4j, streams that are read slowly, and one that is read at once. */
class SmuxSlowReaderTest {

  private static final int STEP_MS = 100;
  private static final int FIRST_BYTES = 1_500_000;
  private static final int ALL_FIRST_BYTES = 40_000_000;
  private static final int MESSAGE_BYTES = 100;

  /** What is on the way at once at most, as a KCP window of 1,024 segments lets it be. */
  private static final int ON_THE_WAY_BYTES = 1_200_000;

  private DrivenSmux sender;
  private DrivenSmux receiver;

  /** Always has more to send, but for the messages of the victim. */
  private static final class Sending extends TestStream {

    long toSend = Long.MAX_VALUE;

    @Override
    public boolean isEmpty() {
      return toSend == 0;
    }

    @Override
    public ByteBuf take(int maxBytes) {
      int bytes = (int) Math.min(maxBytes, toSend);
      toSend -= bytes;
      return Unpooled.wrappedBuffer(new byte[bytes]);
    }
  }

  /** The receiving end of a stream that is read at a rate. */
  private static final class Reader {

    final Sending sending;
    final TestStream receiving;
    int allowed;
    int read;

    Reader(Sending sending, TestStream receiving) {
      this.sending = sending;
      this.receiving = receiving;
      receiving.isReading = false;
    }

    /** Reads whole pieces, so a little more than it may. */
    void read() {
      while (read < allowed) {
        ByteBuf piece = receiving.stream.read();
        if (piece == null) {
          return;
        }
        read += piece.readableBytes();
        piece.release();
      }
    }
  }

  private void connect(int streamBuffer) {
    SmuxConfig config = DrivenSmux.config().maxStreams(4096).maxStreamBuffer(streamBuffer).build();
    sender = new DrivenSmux(config, true);
    receiver = new DrivenSmux(config, false);
  }

  private Reader open() throws SmuxException {
    Sending sending = new Sending();
    sending.stream = sender.session.open(sending, null);
    exchange(List.of());
    return new Reader(sending, receiver.accepted.get(receiver.accepted.size() - 1));
  }

  /** Moves frames until there are no more, while readers read what they may. */
  private void exchange(List<Reader> readers) throws SmuxException {
    boolean isMoved;
    do {
      isMoved = move(sender, receiver);
      readers.forEach(Reader::read);
      isMoved |= move(receiver, sender);
    } while (isMoved);
  }

  private static boolean move(DrivenSmux from, DrivenSmux to) throws SmuxException {
    int bytes = 0;
    while (bytes < ON_THE_WAY_BYTES && from.session.hasFrame() && !to.session.isReceiveBlocked()) {
      ByteBuf frame = from.session.nextFrame(from.allocator);
      bytes += frame.readableBytes();
      to.receive(frame);
      frame.release();
    }
    return bytes > 0;
  }

  private void step(List<Reader> readers) throws SmuxException {
    sender.runFor(STEP_MS);
    receiver.runFor(STEP_MS);
    exchange(readers);
  }

  @ParameterizedTest
  @CsvSource({
    "2097152, 5, 1000",
    "2097152, 20, 1000",
    "2097152, 20, 0",
    "2097152, 300, 100",
    "65536, 20, 1000",
    "65536, 300, 0"
  })
  void slowReadersDelayNobody(int streamBuffer, int streams, int bytesPerStep)
      throws SmuxException {
    connect(streamBuffer);
    Reader victim = open();
    List<Reader> slow = new ArrayList<>();
    for (int i = 0; i < streams; i++) {
      slow.add(open());
    }
    for (Reader reader : slow) {
      reader.allowed = Math.min(FIRST_BYTES, ALL_FIRST_BYTES / streams);
      reader.sending.stream.source(reader.sending);
      reader.sending.stream.outputReady();
    }
    victim.sending.toSend = 0;
    victim.sending.stream.source(victim.sending);
    List<Reader> all = new ArrayList<>(slow);
    all.add(victim);
    victim.allowed = Integer.MAX_VALUE;
    for (int second = 0, sent = 0; second < 10; second++) {
      for (int ms = 0; ms < 1000; ms += STEP_MS) {
        slow.forEach(reader -> reader.allowed += bytesPerStep);
        victim.sending.toSend += MESSAGE_BYTES;
        victim.sending.stream.outputReady();
        sent += MESSAGE_BYTES;
        step(all);
        assertFalse(receiver.session.isReceiveBlocked(), "the session is blocked");
        assertEquals(sent, victim.read, "after " + second + " s");
      }
    }
    for (Reader reader : slow) {
      assertTrue(reader.read >= reader.allowed, "a slow reader gets less than it reads");
    }
    assertEquals(0, receiver.session.stats().cutStreams());
  }
}

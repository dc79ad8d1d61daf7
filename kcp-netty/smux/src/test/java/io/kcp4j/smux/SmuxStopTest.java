package io.kcp4j.smux;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Two sessions in virtual time: a server sends a download, which the client no longer wants. */
class SmuxStopTest {

  private static final int DOWNLOAD_BYTES = 4_000_000;
  private static final int LAST_BYTES = 32_768;
  private static final int INITIAL_WINDOW = 262_144;
  private static final int TIMEOUT_MS = 30_000;
  private static final int LATE_MS = 5_000;
  private static final int ID = 3;

  private DrivenSmux client;
  private DrivenSmux server;
  private TestStream reader;
  private TestStream writer;

  private void connect(int version, int window) throws SmuxException {
    SmuxConfig.Builder config = DrivenSmux.config().version(version).maxStreamBuffer(window);
    client = new DrivenSmux(config, true);
    server = new DrivenSmux(config, false);
    reader = client.open();
    exchange();
    writer = server.accepted.get(0);
  }

  /** Moves frames until there are none; returns how many have moved. */
  private int exchange() throws SmuxException {
    int frames = 0;
    while (move(client, server) || move(server, client)) {
      frames++;
    }
    return frames;
  }

  /** Moves one frame. */
  private static boolean move(DrivenSmux from, DrivenSmux to) throws SmuxException {
    ByteBuf frame = from.session.nextFrame(from.allocator);
    if (frame == null) {
      return false;
    }
    to.receive(frame);
    frame.release();
    return true;
  }

  /** The client reads a part of what the server writes. */
  private void beginDownload() throws SmuxException {
    writer.write(DOWNLOAD_BYTES);
    while (reader.received().length < 1_000_000) {
      assertTrue(move(client, server) || move(server, client));
    }
  }

  private void assertOver() {
    for (DrivenSmux side : List.of(client, server)) {
      assertEquals(0, side.session.stats().openStreams());
      assertEquals(0, side.session.stats().closingStreams());
      assertEquals(0, side.session.stats().violations());
      side.assertNothingHeld();
    }
  }

  @ParameterizedTest
  @CsvSource({"1,65536", "2,65536", "2,1000", "2,2097152"})
  void abortedDownloadStops(int version, int window) throws SmuxException {
    connect(version, window);
    beginDownload();
    long before = server.session.stats().bytesOut();
    reader.stream.close();
    exchange();
    long after = server.session.stats().bytesOut() - before;
    assertTrue(after <= 2 * LAST_BYTES, after + " bytes follow the close");
    assertNotNull(writer.outputStop);
    assertTrue(writer.outputStop.getMessage().contains("smux stream 3"));
    assertTrue(writer.isOutputEnded);
    assertNull(writer.failure, "what had been sent to it could still be read");
    assertOver();
    TestStream another = client.open();
    exchange();
    server.accepted.get(1).write(500_000);
    exchange();
    assertEquals(500_000, another.received().length, "the session goes on");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void whatIsOnItsWayIsDiscardedAndDoesNotEndTheSession(int version) throws SmuxException {
    connect(version, 65_536);
    writer.write(DOWNLOAD_BYTES);
    while (server.session.stats().bytesOut() < 200_000) {
      move(server, client);
    }
    reader.stream.close();
    while (move(server, client)) {} // Before it learns of the close.
    exchange();
    assertNotNull(writer.outputStop);
    assertOver();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void lastBytesOfAPeerAreLetPass(int version) throws SmuxException {
    connect(version, 65_536);
    reader.stream.close();
    exchange();
    writer.write(LAST_BYTES - 1);
    writer.stream.shutdownOutput();
    exchange();
    assertNull(writer.outputStop);
    assertTrue(writer.isOutputEnded);
    assertEquals(LAST_BYTES - 1, client.session.stats().discardedBytes());
    assertOver();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void halfCloseStopsNothing(int version) throws SmuxException {
    connect(version, 65_536);
    reader.stream.shutdownOutput();
    writer.write(DOWNLOAD_BYTES);
    writer.stream.shutdownOutput();
    exchange();
    assertEquals(DOWNLOAD_BYTES, reader.received().length);
    assertNull(writer.outputStop);
    assertOver();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void closeAfterAHalfCloseStopsThePeer(int version) throws SmuxException {
    connect(version, 65_536);
    reader.stream.shutdownOutput();
    beginDownload();
    reader.stream.close();
    exchange();
    assertNotNull(writer.outputStop);
    assertOver();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void outputThatIsBeingShutDownIsStopped(int version) throws SmuxException {
    connect(version, 65_536);
    writer.write(DOWNLOAD_BYTES);
    writer.stream.shutdownOutput();
    while (reader.received().length < 1_000_000) {
      assertTrue(move(client, server) || move(server, client));
    }
    reader.stream.close();
    exchange();
    assertNotNull(writer.outputStop);
    assertTrue(writer.isOutputEnded);
    assertOver();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void whatHadArrivedBeforeTheStopCanBeRead(int version) throws SmuxException {
    connect(version, 65_536);
    writer.isReading = false;
    reader.write(1000);
    beginDownload();
    reader.stream.close();
    exchange();
    assertNotNull(writer.outputStop);
    assertEquals(1, server.session.openStreams());
    assertEquals(1000, writer.readAll());
    assertTrue(writer.stream.isInputEnded());
    assertOver();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void peerThatSendsLittleIsStoppedAfterTheTimeout(int version) throws SmuxException {
    connect(version, 65_536);
    reader.stream.close();
    exchange();
    writer.write(10);
    exchange();
    client.runFor(TIMEOUT_MS - 1);
    exchange();
    assertNull(writer.outputStop);
    client.runFor(1 + LATE_MS);
    assertEquals(0, client.session.stats().closingStreams());
    exchange();
    assertNotNull(writer.outputStop);
    assertOver();
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void peersFinReplacesAStopThatWaits(int version) throws SmuxException {
    connect(version, 65_536);
    reader.stream.close();
    exchange();
    client.receive(client.psh(ID, LAST_BYTES));
    assertTrue(client.session.hasFrame());
    client.receive(client.fin(ID));
    assertFalse(client.session.hasFrame(), "the id may be in use again");
    assertEquals(0, client.session.stats().closingStreams());
  }

  @Test
  void closedStreamOfVersionOneIsStoppedByASecondFin() throws SmuxException {
    connect(1, 65_536);
    reader.stream.close();
    assertEquals(List.of("FIN 3"), client.sent());
    client.receive(client.psh(ID, LAST_BYTES - 1));
    assertEquals(List.of(), client.sent());
    client.receive(client.psh(ID, 1));
    assertEquals(List.of("FIN 3"), client.sent());
    client.receive(client.psh(ID, 60_000));
    assertEquals(List.of(), client.sent(), "it is asked once");
  }

  /** FIN tells the peer that nothing more comes, so a stop before it could end what is to come. */
  @Test
  void stopFollowsOurFin() throws SmuxException {
    connect(2, 65_536);
    reader.stream.close();
    client.receive(client.psh(ID, 50_000));
    assertEquals(
        List.of("UPD 3 50000 65536", "FIN 3", "UPD 3 " + (50_000 + (1 << 30)) + " 0"),
        client.sent());
  }

  @Test
  void updatesAfterTheCloseGrantOneWindow() throws SmuxException {
    int window = 2_000_000;
    connect(2, window);
    client.receive(client.psh(ID, 50_000));
    assertEquals(List.of("UPD 3 50000 " + window), client.sent());
    for (int i = 0; i < 19; i++) {
      client.receive(client.psh(ID, 50_000));
    }
    assertEquals(List.of(), client.sent());
    reader.isReading = false;
    client.receive(client.psh(ID, 60_000));
    reader.stream.close();
    client.receive(client.psh(ID, 10_000));
    for (int i = 0; i < 20; i++) { // The FIN waits: the connection takes nothing.
      client.receive(client.psh(ID, 50_000));
    }
    int granted = 1_060_000 + window;
    assertEquals(
        List.of("UPD 3 2070000 " + (granted - 2_070_000), "FIN 3"), client.sent().subList(0, 2));
  }

  @Test
  void stopOfAStreamThatWaitsToBeAcceptedIsReportedThen() throws SmuxException {
    SmuxMemoryTest.LimitedMemory memory = new SmuxMemoryTest.LimitedMemory();
    memory.isPeerValidated = false;
    server = new DrivenSmux(DrivenSmux.config().build(), false, memory);
    for (int id = ID; id < ID + 2 * 9; id += 2) {
      server.receive(server.syn(id));
    }
    assertEquals(8, server.accepted.size());
    int last = ID + 2 * 8;
    server.receive(server.psh(last, 5), server.fin(last), server.fin(last));
    memory.isPeerValidated = true;
    server.session.peerValidated(server.allocator);
    TestStream user = server.accepted.get(8);
    assertEquals(5, user.received().length);
    assertNotNull(user.outputStop);
    server.sent();
    assertTrue(user.isOutputEnded);
  }

  /** What {@code Write} of Go's smux 1.5.56 does in version 2, in its arithmetic. */
  private static final class GoWriter {

    int written;
    int peerConsumed;
    int peerWindow = INITIAL_WINDOW;
    boolean hasFailed;

    /** Writes as much as it may, and returns how much that was. */
    int write() {
      int inFlight = written - peerConsumed;
      hasFailed |= inFlight < 0;
      int bytes = hasFailed ? 0 : Math.max(0, peerWindow - inFlight);
      written += bytes;
      return bytes;
    }

    /** Go's writers do not wake at FIN. */
    void receive(List<String> frames) {
      for (String frame : frames) {
        String[] words = frame.split(" ", -1);
        if (words[0].equals("UPD")) {
          peerConsumed = Integer.parseInt(words[2]);
          peerWindow = Integer.parseInt(words[3]);
        }
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 1000, 65_536, 262_144, 2_097_152})
  void goWriterFailsAfterTheCloseInPlaceOfWaiting(int window) throws SmuxException {
    client = new DrivenSmux(DrivenSmux.config().maxStreamBuffer(window), true);
    reader = client.open();
    GoWriter go = new GoWriter();
    for (int i = 0; i < 3; i++) {
      client.receiveData(ID, go.write(), 32_768);
      go.receive(client.sent());
    }
    int onItsWay = go.write();
    int before = go.written;
    reader.stream.close();
    client.receiveData(ID, onItsWay, 32_768);
    for (int i = 0; i < 3 && !go.hasFailed; i++) {
      go.receive(client.sent());
      client.receiveData(ID, go.write(), 32_768);
    }
    assertTrue(go.hasFailed, "it waits for ever");
    int after = go.written - before;
    assertTrue(after <= window, after + " bytes follow the close");
  }
}

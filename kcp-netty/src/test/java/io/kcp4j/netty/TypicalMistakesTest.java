package io.kcp4j.netty;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ch.qos.logback.classic.Level;
import io.kcp4j.Delivery;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.lanes.LanesConfig;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOption;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceAccessMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The mistakes of new users: one line names each of them and what to change, on the side where it
 * is seen. That is a message of an exception, or a line of the log. All settings that are not part
 * of a mistake are the defaults. Those that take the longest, a peer that does not answer, are in
 * virtual time in {@code KeepAliveTest}: they are reported within two seconds.
 */
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock(value = RecordedLog.LOCK, mode = ResourceAccessMode.READ)
class TypicalMistakesTest {

  private static final KeyRing KEYS = keys(CipherAlgorithm.AES_128_GCM, "key");
  private static final KeyRing OTHER_KEY = keys(CipherAlgorithm.AES_128_GCM, "other");
  private static final KeyRing OTHER_CIPHER = keys(CipherAlgorithm.CHACHA20_POLY1305, "key");

  private final Fixture fixture = new Fixture(TransportUnderTest.NIO);
  private final RecordedLog log = new RecordedLog();

  @AfterEach
  void close() {
    fixture.close();
    log.close();
  }

  private static KeyRing keys(CipherAlgorithm algorithm, String phrase) {
    return KeyRing.of(PacketKey.ofPassphrase(algorithm, phrase));
  }

  /** A client that has written something as soon as it could, and what its user sees. */
  private final class Client {

    private final Recorder recorder = new Recorder();
    private final ChannelFuture connected;

    Client(InetSocketAddress remote) {
      connected = fixture.bootstrap.clone().handler(recorder).connect(remote);
      connected.addListener(
          done -> {
            if (done.isSuccess()) {
              Channel channel = connected.channel();
              channel.writeAndFlush(Fixture.buffer(channel, new byte[10]));
            }
          });
    }

    Stream<String> lines() {
      List<String> lines = new ArrayList<>();
      if (connected.cause() != null) {
        lines.add(connected.cause().getMessage());
      }
      recorder.exceptions.forEach(exception -> lines.add(exception.getMessage()));
      lines.addAll(logged((InetSocketAddress) connected.channel().localAddress()));
      return lines.stream();
    }

    void sees(String... words) {
      awaitLine(this::lines, words);
    }
  }

  /** What is logged of the socket at this address. */
  private List<String> logged(InetSocketAddress local) {
    if (local == null) {
      return List.of();
    }
    Pattern socket = Pattern.compile("L:\\S*:" + local.getPort() + "\\b");
    return Stream.of(Level.INFO, Level.WARN)
        .flatMap(level -> log.messages(level).stream())
        .filter(socket.asPredicate())
        .toList();
  }

  private void serverSees(KcpServerChannel server, String... words) {
    awaitLine(() -> logged(server.localAddress()).stream(), words);
  }

  private static void awaitLine(Supplier<Stream<String>> seen, String... words) {
    String line =
        await()
            .alias(String.join(", ", words))
            .until(
                () ->
                    seen.get()
                        .filter(each -> Stream.of(words).allMatch(each::contains))
                        .findFirst(),
                found -> found.isPresent())
            .orElseThrow();
    assertEquals(1, line.lines().count(), line);
  }

  private KcpServerChannel serverWith(KeyRing keys) {
    fixture.serverBootstrap.option(KcpChannelOption.KEY_RING, keys);
    return fixture.serve(Echo::new);
  }

  private Client clientWith(KeyRing keys, InetSocketAddress remote) {
    fixture.bootstrap.option(KcpChannelOption.KEY_RING, keys);
    return new Client(remote);
  }

  // Keys and addresses.

  @Test
  void keysCiphersAndPortsThatDifferAreNamedOnBothSides() throws Exception {
    KcpServerChannel sealed = serverWith(KEYS);
    KcpServerChannel plaintext = serverWith(KeyRing.NONE);
    try (ClosedPort closed = new ClosedPort()) {
      Client wrongKey = clientWith(OTHER_KEY, sealed.localAddress());
      Client nobodyListens = clientWith(KeyRing.NONE, closed.address());
      Client unneededKey = clientWith(KEYS, plaintext.localAddress());
      wrongKey.sees("no answer from", "KEY_RING has another key or cipher");
      serverSees(sealed, "no key opens a packet from", "KEY_RING has another key or cipher");
      unneededKey.sees("no answer from", "KEY_RING has another key or cipher");
      serverSees(plaintext, "the peer has a KEY_RING, and none is set here");
      awaitLine(() -> nobodyListens.lines().filter(TypicalMistakesTest::namesAClosedPort));
    }
  }

  /** A connect may fail for that, or the log may say what is most likely. */
  private static boolean namesAClosedPort(String line) {
    return Stream.of("nobody listens", "refused", "PORT_UNREACHABLE").anyMatch(line::contains);
  }

  @Test
  void missingKeyAndOtherCipherAreNamedOnBothSides() {
    KcpServerChannel sealed = serverWith(KEYS);
    Client missingKey = clientWith(KeyRing.NONE, sealed.localAddress());
    Client wrongCipher = clientWith(OTHER_CIPHER, sealed.localAddress());
    missingKey.sees("no answer from", "KEY_RING has another key or cipher");
    wrongCipher.sees("no answer from", "KEY_RING has another key or cipher");
    serverSees(sealed, "the peer needs a KEY_RING, as set here");
    serverSees(sealed, "no key opens a packet from", "KEY_RING has another key or cipher");
  }

  /** As during a change of keys: the server still opens what it no longer seals. */
  @Test
  void clientSaysThatNoKeyOpensTheAnswersOfTheServer() {
    PacketKey old = KEYS.keys().get(0);
    KcpServerChannel server = serverWith(KeyRing.of(OTHER_KEY.keys().get(0), old));
    Client client = clientWith(KEYS, server.localAddress());
    client.sees("no key opens a packet from", "KEY_RING has another key or cipher");
    client.sees("no answer from", "datagrams received that no key opens", "KEY_RING");
    assertTrue(client.connected.channel().isActive(), "anybody may have sent that");
  }

  /** Without the log its user would wait for CONNECT_TIMEOUT_MILLIS. */
  @Test
  void clientThatProbesSaysSoWhileItConnects() {
    fixture.bootstrap.option(KcpChannelOption.CONNECT_PROBE, true);
    fixture.bootstrap.option(ChannelOption.CONNECT_TIMEOUT_MILLIS, 2000);
    KcpServerChannel server = serverWith(KEYS);
    Client client = clientWith(OTHER_KEY, server.localAddress());
    awaitLine(
        () -> log.messages(Level.INFO).stream(),
        "no answer from " + server.localAddress() + " yet",
        "KEY_RING has another key or cipher");
    client.sees("no answer within 2000 ms", "KEY_RING has another key or cipher");
  }

  // FEC.

  static Stream<Arguments> ratios() {
    FecConfig large = FecConfig.of(100, 20);
    return Stream.of(
        Arguments.of(FecConfig.of(10, 3), FecConfig.of(20, 5)),
        Arguments.of(FecConfig.NONE, FecConfig.of(10, 3)),
        Arguments.of(FecConfig.of(10, 3), FecConfig.NONE),
        Arguments.of(FecConfig.adaptive(), FecConfig.of(3, 2)),
        Arguments.of(FecConfig.of(3, 2), large),
        Arguments.of(large, FecConfig.adaptive()));
  }

  /** It is no mistake: each side decodes what it can use, and takes the data of the rest. */
  @ParameterizedTest
  @MethodSource("ratios")
  void ratiosThatDifferWork(FecConfig server, FecConfig client) {
    fixture.serverBootstrap.childOption(KcpChannelOption.FEC, server);
    fixture.bootstrap.option(KcpChannelOption.FEC, client);
    fixture.serve(Echo::new);
    Recorder recorder = new Recorder();
    KcpChannel channel = fixture.connect(recorder);
    byte[] sent = Fixture.randomBytes(200_000);
    channel.writeAndFlush(Fixture.buffer(channel, sent));
    await().until(() -> recorder.received() == sent.length);
    assertArrayEquals(sent, recorder.bytes());
  }

  @Test
  void fecOutOfRangeNamesFec() {
    String message =
        assertThrows(IllegalArgumentException.class, () -> FecConfig.of(300, 3)).getMessage();
    assertEquals("FEC data shards: 300 (expected: 1 to 255)", message);
  }

  // Deliveries.

  static Stream<Arguments> deliveries() {
    return Stream.of(
        Arguments.of(Delivery.STREAM, Delivery.MESSAGE),
        Arguments.of(Delivery.MESSAGE, Delivery.STREAM),
        Arguments.of(Delivery.MESSAGE, Delivery.LANES),
        Arguments.of(Delivery.LANES, Delivery.MESSAGE),
        Arguments.of(Delivery.STREAM, Delivery.LANES),
        Arguments.of(Delivery.LANES, Delivery.STREAM));
  }

  @ParameterizedTest
  @MethodSource("deliveries")
  void deliveriesThatDifferAreNamedOnBothSides(Delivery ofServer, Delivery ofClient) {
    fixture.serverBootstrap.childOption(KcpChannelOption.DELIVERY, ofServer);
    fixture.bootstrap.option(KcpChannelOption.DELIVERY, ofClient);
    KcpServerChannel server = fixture.serve(ChannelInboundHandlerAdapter::new);
    Client client = new Client(server.localAddress());
    client.sees(
        "DELIVERY of the peer is " + ofServer + ", here " + ofClient, "set the same on both sides");
    serverSees(server, "has another DELIVERY than is set here", "set the same on both sides");
  }

  @Test
  void peerWithoutTheExtensionHasNoLanes() {
    fixture.configureChildren(config -> config.extension(false));
    fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.LANES);
    KcpServerChannel server = fixture.serve(ChannelInboundHandlerAdapter::new);
    new Client(server.localAddress())
        .sees("LANES_UNSUPPORTED", "needs a kcp4j peer with LANES and the extension");
  }

  @Test
  void clientWithoutTheExtensionHasNoLanes() {
    fixture.serverBootstrap.childOption(KcpChannelOption.DELIVERY, Delivery.LANES);
    fixture.configureClient(config -> config.extension(false));
    KcpServerChannel server = fixture.serve(ChannelInboundHandlerAdapter::new);
    new Client(server.localAddress());
    serverSees(server, "has no lanes", "DELIVERY LANES", "extension");
  }

  // Ports and options.

  @Test
  void portInUseIsNamedByBind() {
    InetSocketAddress used = fixture.serve(Echo::new).localAddress();
    Throwable cause = fixture.serverBootstrap.bind(used).awaitUninterruptibly().cause();
    assertNotNull(cause);
    awaitLine(() -> Stream.of(cause.getMessage()), String.valueOf(used), "in use");
  }

  @Test
  void optionsAtTheWrongPlaceAreNamed() {
    awaitLine(
        () -> bindFails(KcpChannelOption.DELIVERY, Delivery.LANES, false),
        "DELIVERY: (expected: set by childOption");
    awaitLine(
        () -> bindFails(KcpChannelOption.LANES, LanesConfig.builder().build(), true),
        "LANES: set with DELIVERY STREAM (expected: LANES)");
    awaitLine(() -> bindFails(KcpChannelOption.MTU, 20, true), "KcpChannelOption#MTU: ", "20");
    fixture.bootstrap.option(KcpChannelOption.DELIVERY, Delivery.LANES);
    fixture.configureClient(config -> config.extension(false));
    new Client(Fixture.ANY_PORT).sees("extension: false (expected: true with DELIVERY LANES)");
  }

  private <T> Stream<String> bindFails(ChannelOption<T> option, T value, boolean isOfChild) {
    var server = fixture.serverBootstrap.clone().childHandler(new ChannelInboundHandlerAdapter());
    if (isOfChild) {
      server.childOption(option, value);
    } else {
      server.option(option, value);
    }
    Throwable cause = server.bind(Fixture.ANY_PORT).awaitUninterruptibly().cause();
    return cause == null ? Stream.of() : Stream.of(cause.getMessage());
  }

  // The class path.

  @Test
  void nettyOf41IsNamed() throws Exception {
    List<String> old = jarsOf(Path.of("target", "old-netty"));
    List<String> classPath = new ArrayList<>(classPathWithout("/io/netty/"));
    classPath.addAll(old);
    List<String> lines = failureOf(classPath, "null");
    awaitLine(lines::stream, "kcp4j needs Netty 4.2: the class path has 4.1.", "netty-bom");
  }

  @Test
  void missingBouncyCastleIsNamed() throws Exception {
    List<String> lines = failureOf(classPathWithout("/bcprov-"), "twofish");
    awaitLine(
        lines::stream,
        "cipher twofish: BouncyCastle is missing",
        "org.bouncycastle:bcprov-jdk18on");
  }

  private static List<String> jarsOf(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.map(Path::toString).toList();
    }
  }

  private static List<String> classPathWithout(String part) {
    return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
        .filter(entry -> !entry.replace(File.separatorChar, '/').contains(part))
        .toList();
  }

  /** What {@link MistakenServer} prints before it fails. */
  private static List<String> failureOf(List<String> classPath, String cipher) throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-cp",
                String.join(File.pathSeparator, classPath),
                MistakenServer.class.getName(),
                cipher)
            .redirectErrorStream(true)
            .start();
    try (InputStream out = process.getInputStream()) {
      List<String> lines = new String(out.readAllBytes(), StandardCharsets.UTF_8).lines().toList();
      assertEquals(1, process.waitFor(), lines::toString);
      return lines;
    } finally {
      process.destroyForcibly();
    }
  }
}

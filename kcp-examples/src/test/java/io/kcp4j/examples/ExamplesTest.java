package io.kcp4j.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class ExamplesTest {

  @Test
  void quickstartEchoesItsGreeting() throws Exception {
    assertEquals(List.of("hello, KCP"), linesOf(() -> Quickstart.main(new String[0])));
  }

  @Test
  void rpcServiceAnswersEveryCall() throws Exception {
    assertEquals(
        List.of("elbailer", "deredro", "tsaf"), linesOf(() -> RpcService.main(new String[0])));
  }

  @Test
  void gameEndsAtItsLastTick() throws Exception {
    List<String> lines = linesOf(() -> GameTick.main(new String[0]));
    assertTrue(lines.stream().allMatch(line -> line.matches("tick \\d+: the ball is at \\d+")));
    String last = lines.get(lines.size() - 1);
    assertTrue(last.matches("tick 20: the ball is at [1-9]\\d*"), last);
  }

  @Test
  void radarPrintsThePositionsInOrder() throws Exception {
    List<String> expected = IntStream.range(0, 10).mapToObj(i -> "the ship is at " + i).toList();
    assertEquals(expected, linesOf(() -> Radar.main(new String[0])));
  }

  @Test
  void clientConnectsAgainAndGoesOn() throws Exception {
    assertEquals(
        List.of("1", "2", "3", "again", "4", "5", "6", "again", "7"),
        linesOf(() -> ReconnectingClient.main(new String[0])));
  }

  @Test
  void grpcServiceAnswersEveryCall() throws Exception {
    assertEquals(
        List.of("elbailer", "deredro", "tsaf"), linesOf(() -> GrpcService.main(new String[0])));
  }

  @Test
  void reactorNettyEchoesTheGreeting() throws Exception {
    assertEquals(List.of("hello, Reactor"), linesOf(() -> ReactorEcho.main(new String[0])));
  }

  @Test
  void greetingIsEchoedOverTls13() throws Exception {
    assertEquals(List.of("TLSv1.3: hello, TLS"), linesOf(() -> TlsEcho.main(new String[0])));
  }

  @Test
  void oneInitializerServesTcpAndKcp() throws Exception {
    assertEquals(
        List.of("hello, TCP, too", "hello, KCP, too"),
        linesOf(() -> TcpAndKcp.main(new String[0])));
  }

  @Test
  void shortAndLongAnswersArriveOnStreams() throws Exception {
    assertEquals(
        List.of("short answer: 13 bytes", "long answer: 4000000 bytes"),
        linesOf(() -> Streams.main(new String[0])));
  }

  @Test
  void positionAndChatArriveOnTheirLanes() throws Exception {
    assertEquals(
        List.of("the ship is at 42; hello, lane"), linesOf(() -> GameLanes.main(new String[0])));
  }

  @Test
  void newExamplesAreShort() {
    List<String> names =
        List.of("GameLanes", "GrpcService", "ReactorEcho", "Streams", "TlsEcho", "TcpAndKcp");
    for (String name : names) {
      Path file = Path.of("kcp-examples/src/main/java/io/kcp4j/examples", name + ".java");
      int lines = SourceFiles.lines(file).size();
      assertTrue(lines < 100, name + ": " + lines);
    }
  }

  @Test
  void noOtherModuleUsesTheExamples() throws IOException {
    try (Stream<Path> files = Files.walk(Path.of(".."), 12)) {
      List<Path> users =
          files
              .filter(file -> file.toString().endsWith(".java"))
              .filter(file -> !file.startsWith("../kcp-examples"))
              .filter(ExamplesTest::mentionsExamples)
              .toList();
      assertEquals(List.of(), users);
    }
  }

  private static boolean mentionsExamples(Path file) {
    try {
      return Files.readString(file).contains("io.kcp4j.examples");
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  /** A main method. */
  @FunctionalInterface
  private interface Example {
    void run() throws Exception;
  }

  private static List<String> linesOf(Example example) throws Exception {
    PrintStream original = System.out;
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
    try {
      example.run();
    } finally {
      System.setOut(original);
    }
    return out.toString(StandardCharsets.UTF_8).lines().toList();
  }
}

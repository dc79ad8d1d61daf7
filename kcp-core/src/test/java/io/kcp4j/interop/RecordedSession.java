package io.kcp4j.interop;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * An echo session of kcp-go as it crossed the wire: UDP payloads in sending order, lost ones left
 * out.
 *
 * @param streamBytes how many bytes each direction carried
 * @param streamSha256 the hash of those bytes, in hexadecimal digits
 */
record RecordedSession(
    String name,
    int streamBytes,
    String streamSha256,
    List<byte[]> clientToServer,
    List<byte[]> serverToClient) {

  private static final String RESOURCE = "/vectors/plain-sessions.txt";

  /** The recorded sessions without cipher and FEC; the resource describes its own format. */
  static List<RecordedSession> plain() {
    List<RecordedSession> sessions = new ArrayList<>();
    try (InputStream in = RecordedSession.class.getResourceAsStream(RESOURCE);
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, US_ASCII))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        read(line, sessions);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return sessions;
  }

  private static void read(String line, List<RecordedSession> sessions) {
    String[] words = line.split(" ", -1);
    switch (words[0]) {
      case "#" -> {}
      case "session" ->
          sessions.add(
              new RecordedSession(
                  words[1],
                  Integer.parseInt(words[2]),
                  words[3],
                  new ArrayList<>(),
                  new ArrayList<>()));
      case ">" -> last(sessions).clientToServer().add(HexFormat.of().parseHex(words[1]));
      case "<" -> last(sessions).serverToClient().add(HexFormat.of().parseHex(words[1]));
      default -> throw new IllegalArgumentException("line: " + line);
    }
  }

  private static RecordedSession last(List<RecordedSession> sessions) {
    return sessions.get(sessions.size() - 1);
  }

  @Override
  public String toString() {
    return name;
  }
}

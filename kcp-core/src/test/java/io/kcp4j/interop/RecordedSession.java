package io.kcp4j.interop;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.GZIPInputStream;

/**
 * A recorded echo session of kcp-go: UDP payloads in sending order, without lost ones.
 *
 * @param fec the ratio of both directions
 * @param streamBytes the number of bytes in each direction
 * @param streamSha256 the hash of those bytes, in hexadecimal digits
 */
record RecordedSession(
    String name,
    CipherAlgorithm cipher,
    FecConfig fec,
    int streamBytes,
    String streamSha256,
    List<byte[]> clientToServer,
    List<byte[]> serverToClient) {

  private static final String RESOURCE = "/vectors/sessions.txt.gz";
  private static final String PASSPHRASE = "it's a secrect";

  /** All recorded sessions; the resource describes its own format. */
  static List<RecordedSession> all() {
    List<RecordedSession> sessions = new ArrayList<>();
    try (InputStream in = new GZIPInputStream(RecordedSession.class.getResourceAsStream(RESOURCE));
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
                  CipherAlgorithm.of(words[2]),
                  ratio(Integer.parseInt(words[3]), Integer.parseInt(words[4])),
                  Integer.parseInt(words[5]),
                  words[6],
                  new ArrayList<>(),
                  new ArrayList<>()));
      case ">" -> last(sessions).clientToServer().add(HexFormat.of().parseHex(words[1]));
      case "<" -> last(sessions).serverToClient().add(HexFormat.of().parseHex(words[1]));
      default -> throw new IllegalArgumentException("line: " + line);
    }
  }

  private static FecConfig ratio(int dataShards, int parityShards) {
    return dataShards == 0 ? FecConfig.NONE : FecConfig.of(dataShards, parityShards);
  }

  private static RecordedSession last(List<RecordedSession> sessions) {
    return sessions.get(sessions.size() - 1);
  }

  /** The cipher of its packets. */
  KeyRing keys() {
    return KeyRing.of(PacketKey.ofPassphrase(cipher, PASSPHRASE));
  }

  /** Whether packets were lost. */
  boolean isLossy() {
    return name.endsWith("-loss");
  }

  @Override
  public String toString() {
    return name;
  }
}

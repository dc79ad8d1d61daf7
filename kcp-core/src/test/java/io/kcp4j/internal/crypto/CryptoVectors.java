package io.kcp4j.internal.crypto;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.kcp4j.crypto.CipherAlgorithm;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/** Packets as kcp-go seals them; the resource describes its own format. */
@SuppressWarnings("ArrayRecordComponent") // they are compared by nobody
record CryptoVectors(
    String passphrase, byte[] derivedKey, List<Checksum> checksums, List<Sealed> aeads) {

  private static final String RESOURCE = "/vectors/crypto.txt";

  static final CryptoVectors INSTANCE = load();

  /** A packet of a cipher with checksum: header and payload before and after encryption. */
  record Checksum(CipherAlgorithm algorithm, byte[] packet, byte[] sealed) {

    byte[] payload() {
      return Arrays.copyOfRange(packet, algorithm.headroom(), packet.length);
    }
  }

  /** A packet of an AEAD. */
  record Sealed(CipherAlgorithm algorithm, byte[] nonce, byte[] payload, byte[] sealed) {}

  /** The first bytes of the derived key. */
  byte[] key(CipherAlgorithm algorithm) {
    return Arrays.copyOf(derivedKey, algorithm.keyBytes());
  }

  private static CryptoVectors load() {
    String passphrase = null;
    byte[] derivedKey = null;
    List<Checksum> checksums = new ArrayList<>();
    List<Sealed> aeads = new ArrayList<>();
    try (InputStream in = CryptoVectors.class.getResourceAsStream(RESOURCE);
        BufferedReader lines = new BufferedReader(new InputStreamReader(in, US_ASCII))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] words = line.split(" ", -1);
        switch (words[0]) {
          case "#" -> {}
          case "passphrase" -> passphrase = line.substring("passphrase ".length());
          case "derived" -> derivedKey = hex(words[1]);
          case "checksum" ->
              checksums.add(
                  new Checksum(CipherAlgorithm.of(words[1]), hex(words[2]), hex(words[3])));
          case "aead" ->
              aeads.add(
                  new Sealed(
                      CipherAlgorithm.of(words[1]), hex(words[2]), hex(words[3]), hex(words[4])));
          default -> throw new IllegalArgumentException("line: " + line);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return new CryptoVectors(passphrase, derivedKey, checksums, aeads);
  }

  private static byte[] hex(String digits) {
    return HexFormat.of().parseHex(digits);
  }
}

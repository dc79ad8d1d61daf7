package io.kcp4j.sim;

import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Draws the layers around the ARQ: one cipher for all endpoints of a run, and the forward error
 * correction of each side of each session. Keys are fixed. Nonces are not, so that no two runs have
 * the same bytes on the wire; nothing in a run depends on those.
 */
final class SimulatedLayers {

  /** The cheap ones, one for each way of sealing; the others share their code with these. */
  private static final List<CipherAlgorithm> USUAL =
      List.of(CipherAlgorithm.AES_128_GCM, CipherAlgorithm.AES_128, CipherAlgorithm.SALSA20);

  private static final Map<CipherAlgorithm, List<PacketKey>> PACKET_KEYS = packetKeys();

  private final CipherAlgorithm algorithm;

  /** Draws the cipher: none at all, one of the usual ones, or any. */
  SimulatedLayers(SplittableRandom random) {
    CipherAlgorithm[] all = CipherAlgorithm.values();
    algorithm =
        switch (random.nextInt(8)) {
          case 0, 1, 2 -> CipherAlgorithm.NULL;
          case 3 -> all[random.nextInt(all.length)];
          default -> USUAL.get(random.nextInt(USUAL.size()));
        };
  }

  private static Map<CipherAlgorithm, List<PacketKey>> packetKeys() {
    Map<CipherAlgorithm, List<PacketKey>> keys = new EnumMap<>(CipherAlgorithm.class);
    for (CipherAlgorithm algorithm : CipherAlgorithm.values()) {
      byte[] first = new byte[algorithm.keyBytes()];
      byte[] second = new byte[algorithm.keyBytes()];
      for (int i = 0; i < first.length; i++) {
        first[i] = (byte) (i + 1);
        second[i] = (byte) (200 - i);
      }
      keys.put(algorithm, List.of(PacketKey.of(algorithm, first), PacketKey.of(algorithm, second)));
    }
    return keys;
  }

  /** Whether packets are sealed, so that altered ones are detected. */
  boolean isSealed() {
    return algorithm != CipherAlgorithm.NULL;
  }

  /** Whether there is more than one key. */
  boolean hasKeys() {
    return algorithm.keyBytes() > 0;
  }

  /** The first key alone. */
  KeyRing firstKey() {
    return KeyRing.of(key(0));
  }

  /** The first key seals, the second opens too. */
  KeyRing bothKeys() {
    return KeyRing.of(key(0), key(1));
  }

  /** The second key seals, the first still opens. */
  KeyRing newKey() {
    return KeyRing.of(key(1), key(0));
  }

  private PacketKey key(int number) {
    return PACKET_KEYS.get(algorithm).get(number);
  }

  /**
   * The settings of FEC of both sides of a session.
   *
   * @param client the initial settings of the client
   * @param server the initial settings of the server
   */
  record FecSides(FecConfig client, FecConfig server) {}

  /** Draws both sides: none, equal, different, or one direction alone. */
  static FecSides drawFecSides(SplittableRandom random) {
    FecConfig fec = drawFec(random);
    return switch (random.nextInt(6)) {
      case 0 -> new FecSides(FecConfig.NONE, FecConfig.NONE);
      case 1 -> new FecSides(fec, FecConfig.NONE);
      case 2 -> new FecSides(FecConfig.NONE, fec);
      case 3 -> new FecSides(fec, drawFec(random));
      default -> new FecSides(fec, fec);
    };
  }

  /** Draws settings that encode. */
  static FecConfig drawFec(SplittableRandom random) {
    return switch (random.nextInt(9)) {
      case 0 -> FecConfig.of(10, 3);
      case 1 -> FecConfig.of(3, 2);
      case 2 -> FecConfig.of(1 + random.nextInt(40), 1 + random.nextInt(10));
      case 3 -> FecConfig.adaptive().toBuilder().maxParity(1 + random.nextInt(3)).build();
      case 4 -> FecConfig.adaptive().toBuilder().delayedCopyMs(1 + random.nextInt(20)).build();
      case 5 -> drawRatio(random).toBuilder().flushAligned(true).build();
      default -> drawRatio(random);
    };
  }

  private static FecConfig drawRatio(SplittableRandom random) {
    return FecConfig.of(1 + random.nextInt(12), 1 + random.nextInt(4));
  }
}

package io.kcp4j.netty.internal.endpoint;

import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.Set;

/** The secret of a server's reset tokens, unless {@code RESET_SECRET} is set. */
public final class ResetSecret {

  private static final InternalLogger logger = InternalLoggerFactory.getInstance(ResetSecret.class);

  private static final int BYTES = 32;

  /** Many hosts have these. */
  private static final Set<String> COMMON_NAMES = Set.of("", "localhost", "(none)");

  private static final Path HOST_NAME = Path.of("/proc/sys/kernel/hostname");

  private ResetSecret() {}

  /**
   * A secret that a server has again after a restart, if all of its keys are AEADs whose bytes are
   * known; else a random one.
   *
   * @param isShared whether other processes may be bound to the address: their packets may arrive
   *     here, and must not end their sessions
   */
  public static byte[] of(KeyRing ring, InetSocketAddress local, boolean isShared) {
    byte[] derived = isShared || !ring.isAuthenticated() ? null : derive(ring, local);
    if (derived != null) {
      logger.info("{} reset tokens follow from the key, the host's name and this address", local);
      return derived;
    }
    logger.info("{} reset tokens are random: clients notice a restart by their timeouts", local);
    byte[] random = new byte[BYTES];
    new SecureRandom().nextBytes(random);
    return random;
  }

  private static byte[] derive(KeyRing ring, InetSocketAddress local) {
    String host = hostName();
    if (COMMON_NAMES.contains(host)) {
      return null;
    }
    String address = local.getAddress().getHostAddress();
    String purpose = "kcp4j reset tokens of " + host + " " + address + " " + local.getPort();
    byte[] first = null;
    for (PacketKey key : ring.keys()) {
      byte[] secret = key.derive(purpose, BYTES);
      if (secret == null) {
        return null;
      }
      first = first == null ? secret : first;
    }
    return first;
  }

  /** On Linux without a question to the resolver, which may take seconds. */
  private static String hostName() {
    try {
      return Files.readString(HOST_NAME, StandardCharsets.UTF_8).strip();
    } catch (IOException e) {
      try {
        return InetAddress.getLocalHost().getHostName();
      } catch (UnknownHostException unknown) {
        return "";
      }
    }
  }
}

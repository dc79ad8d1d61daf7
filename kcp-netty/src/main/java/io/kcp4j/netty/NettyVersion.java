package io.kcp4j.netty;

import io.netty.util.Version;

/**
 * Which Netty is on the class path. Frameworks often pin Netty 4.1, which lacks the event loops of
 * 4.2: without this check, a class that is missing there would be reported.
 */
final class NettyVersion {

  private static final String NEEDED_TYPE = "io.netty.channel.IoEventLoop";

  private static final String PROBLEM = problem();

  private NettyVersion() {}

  /**
   * Checks the version.
   *
   * @throws IllegalStateException if it is too old
   */
  static void check() {
    if (PROBLEM != null) {
      throw new IllegalStateException(PROBLEM);
    }
  }

  private static String problem() {
    try {
      Class.forName(NEEDED_TYPE, false, NettyVersion.class.getClassLoader());
      return null;
    } catch (ClassNotFoundException e) {
      Version transport = Version.identify().get("netty-transport");
      String found = transport == null ? "an older one" : transport.artifactVersion();
      return "kcp4j needs Netty 4.2: the class path has "
          + found
          + " (expected: one version of 4.2, as of io.netty:netty-bom, for all io.netty artifacts)";
    }
  }
}

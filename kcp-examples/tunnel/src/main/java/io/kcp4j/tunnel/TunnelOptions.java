package io.kcp4j.tunnel;

import io.kcp4j.CongestionControl;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpMode;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.smux.SmuxConfig;
import java.util.Locale;
import picocli.CommandLine.Option;

/**
 * The options of both ends of the tunnel: names and defaults are those of kcptun. Options that a
 * {@link ConfigFile} sets are of the types {@code int}, {@code Integer}, {@code boolean} and {@code
 * String}.
 */
final class TunnelOptions {

  /** After the options of the command itself. */
  private static final int LAST = 1;

  /** kcptun's default, spelt as there. */
  private static final String DEFAULT_KEY = "it's a secrect";

  private static final String KEY_VARIABLE = "KCPTUN_KEY";

  /** Without a word of the peer for so long, smux ends a session, whatever the interval is. */
  private static final int MIN_KEEP_ALIVE_TIMEOUT_S = 30;

  static final int MAX_SECONDS = 1_000_000;
  private static final int MAX_KEEP_ALIVE_S = 100_000;

  /** Of a session. Peers have the key, and kcptun has no limit. */
  static final int MAX_CONNECTIONS = 4096;

  @Option(
      order = LAST,
      names = "--key",
      paramLabel = "PASSPHRASE",
      description = "Secret of both ends (default: the environment's KCPTUN_KEY, else kcptun's).")
  private String key;

  @Option(
      order = LAST,
      names = "--crypt",
      paramLabel = "NAME",
      defaultValue = "aes",
      description =
          "Packet cipher: aes, aes-128, aes-128-gcm, aes-192, salsa20, blowfish, "
              + "twofish, cast5, 3des, tea, xtea, xor, sm4, none, null; between ends of kcp4j "
              + "also aes-192-gcm, aes-256-gcm, chacha20-poly1305 (default: "
              + "${DEFAULT-VALUE}).")
  private String crypt;

  @Option(
      order = LAST,
      names = "--mode",
      paramLabel = "MODE",
      defaultValue = "fast",
      description =
          "normal, fast, fast2, fast3; or manual, which uses --nodelay, --interval, "
              + "--resend and --nc (default: ${DEFAULT-VALUE}).")
  private String mode;

  @Option(
      order = LAST,
      names = "--mtu",
      paramLabel = "BYTES",
      defaultValue = "1200",
      description = "Largest UDP payload (default: ${DEFAULT-VALUE}).")
  private int mtuBytes;

  @Option(
      order = LAST,
      names = "--ratelimit",
      paramLabel = "BYTES",
      defaultValue = "0",
      description = "Most bytes a second that a KCP session sends; 0: no limit (the default).")
  private int rateLimit;

  @Option(
      order = LAST,
      names = "--sndwnd",
      paramLabel = "N",
      description = "Send window, in segments (default: 128, server 1024).")
  private Integer sendWindow;

  @Option(
      order = LAST,
      names = "--rcvwnd",
      paramLabel = "N",
      description = "Receive window, in segments (default: 512, server 1024).")
  private Integer receiveWindow;

  @Option(
      order = LAST,
      names = {"--ds", "--datashard"},
      paramLabel = "N",
      defaultValue = "10",
      description = "Datagrams of an FEC group; 0: no FEC (default: ${DEFAULT-VALUE}).")
  private int dataShards;

  @Option(
      order = LAST,
      names = {"--ps", "--parityshard"},
      paramLabel = "N",
      defaultValue = "3",
      description = "Parity packets of an FEC group; 0: no FEC (default: ${DEFAULT-VALUE}).")
  private int parityShards;

  @Option(
      order = LAST,
      names = "--dscp",
      paramLabel = "N",
      defaultValue = "0",
      description = "DSCP of IP headers, 0 to 63 (default: ${DEFAULT-VALUE}).")
  private int dscp;

  @Option(
      order = LAST,
      names = "--nocomp",
      description = "No compression by Snappy. Both ends need the same setting.")
  private boolean isUncompressed;

  @Option(
      order = LAST,
      names = "--acknodelay",
      description = "Acknowledge after every batch of datagrams.")
  private boolean ackNoDelay;

  @Option(
      order = LAST,
      names = "--nodelay",
      paramLabel = "0|1",
      defaultValue = "0",
      description = "Mode manual; 1: timeouts grow by half, not twofold (default: 0).")
  private int noDelay;

  @Option(
      order = LAST,
      names = "--interval",
      paramLabel = "MS",
      defaultValue = "50",
      description = "Mode manual: flush interval (default: ${DEFAULT-VALUE}).")
  private int intervalMs;

  @Option(
      order = LAST,
      names = "--resend",
      paramLabel = "N",
      defaultValue = "0",
      description = "Mode manual; accepted, but losses are detected by time.")
  private int fastRetransmit;

  @Option(
      order = LAST,
      names = "--nc",
      paramLabel = "0|1",
      defaultValue = "0",
      description = "Mode manual; 1: no congestion control, 0: Reno (default: 0).")
  private int noCongestionControl;

  @Option(
      order = LAST,
      names = "--congestion-control",
      paramLabel = "NAME",
      description =
          "none, reno or bbr, in any mode (default: bbr; with --mode manual that of --nc).")
  private String congestionControl;

  @Option(
      order = LAST,
      names = "--sockbuf",
      paramLabel = "BYTES",
      defaultValue = "4194304",
      description = "Each buffer of a UDP socket (default: ${DEFAULT-VALUE}).")
  private int socketBufferBytes;

  @Option(
      order = LAST,
      names = "--smuxver",
      paramLabel = "1|2",
      defaultValue = "2",
      description = "Version of smux. Both ends need the same (default: ${DEFAULT-VALUE}).")
  private int smuxVersion;

  @Option(
      order = LAST,
      names = "--smuxbuf",
      paramLabel = "BYTES",
      defaultValue = "4194304",
      description =
          "Most bytes received and not forwarded, of all connections of a session "
              + "(default: ${DEFAULT-VALUE}).")
  private int smuxBufferBytes;

  @Option(
      order = LAST,
      names = "--framesize",
      paramLabel = "BYTES",
      defaultValue = "8192",
      description = "Largest payload of a frame of smux (default: ${DEFAULT-VALUE}).")
  private int frameBytes;

  @Option(
      order = LAST,
      names = "--streambuf",
      paramLabel = "BYTES",
      defaultValue = "2097152",
      description =
          "Most bytes received and not forwarded, of one connection; with version 2 "
              + "(default: ${DEFAULT-VALUE}).")
  private int streamBufferBytes;

  @Option(
      order = LAST,
      names = "--keepalive",
      paramLabel = "SECONDS",
      defaultValue = "10",
      description = "Interval of keep-alive frames (default: ${DEFAULT-VALUE}).")
  private int keepAliveS;

  @Option(
      order = LAST,
      names = "--closewait",
      paramLabel = "SECONDS",
      description =
          "When one direction of a connection has ended, how long the other may stay "
              + "without data; 0: without limit (default: 0, server 30).")
  private Integer closeWaitS;

  @Option(order = LAST, names = "--QPP", description = "Left out: is refused.")
  private boolean isQpp;

  @Option(
      order = LAST,
      names = "--QPPCount",
      paramLabel = "N",
      hidden = true,
      description = "Of --QPP.")
  void qppCount(int count) {} // Without --QPP it has no effect, as in kcptun.

  @Option(order = LAST, names = "--tcp", description = "Left out: is refused.")
  private boolean isTcpRaw;

  /** Whether the key is the one that everybody knows. */
  boolean isKeyPublic() {
    return CipherAlgorithm.of(crypt).keyBytes() > 0 && passphrase().equals(DEFAULT_KEY);
  }

  /**
   * The settings that result from these options.
   *
   * @param defaults what differs between client and server
   * @throws IllegalArgumentException if one is out of range
   */
  TunnelSettings settings(TunnelDefaults defaults) {
    if (isQpp) {
      throw new IllegalArgumentException("--QPP: quantum permutation pads are left out here");
    }
    if (isTcpRaw) {
      throw new IllegalArgumentException("--tcp: imitating TCP (tcpraw) is left out here");
    }
    KeyRing keys = keys();
    FecConfig fec =
        dataShards == 0 || parityShards == 0
            ? FecConfig.NONE
            : FecConfig.of(dataShards, parityShards);
    int overhead = keys.headroom() + keys.tailroom() + fec.headerBytes();
    checked("--mtu", mtuBytes, overhead + Segment.HEADER_BYTES + 1, KcpConfig.MAX_MTU_BYTES);
    return new TunnelSettings(
        crypt,
        keys,
        kcp(defaults),
        fec,
        smux(),
        !isUncompressed,
        checked("--dscp", dscp, 0, 63),
        checked("--sockbuf", socketBufferBytes, 1, Integer.MAX_VALUE),
        checked(
            "--closewait",
            closeWaitS == null ? defaults.closeWaitS() : closeWaitS,
            0,
            MAX_SECONDS));
  }

  private KeyRing keys() {
    CipherAlgorithm algorithm = CipherAlgorithm.of(crypt);
    return algorithm == CipherAlgorithm.NULL
        ? KeyRing.NONE
        : KeyRing.of(PacketKey.ofPassphrase(algorithm, passphrase()));
  }

  private String passphrase() {
    if (key != null) {
      return key;
    }
    String variable = System.getenv(KEY_VARIABLE);
    return variable == null ? DEFAULT_KEY : variable;
  }

  private KcpConfig kcp(TunnelDefaults defaults) {
    KcpConfig.Builder config =
        KcpConfig.builder()
            .mtuBytes(mtuBytes)
            .sendWindow(sendWindow == null ? defaults.sendWindow() : sendWindow)
            .receiveWindow(receiveWindow == null ? defaults.receiveWindow() : receiveWindow)
            .ackNoDelay(ackNoDelay)
            .lingerMs(TunnelSettings.LINGER_MS)
            .lingerMaxMs(TunnelSettings.LINGER_MS)
            .rateLimit(checked("--ratelimit", rateLimit, 0, Integer.MAX_VALUE));
    if (smuxVersion == 1) {
      // A connection that is not read stops its session, and may be read again at any time.
      config.zeroWindowTimeoutMs(0);
    }
    setMode(config);
    if (congestionControl != null) {
      config.congestionControl(CongestionControl.factory(congestionControl));
    }
    return config.build();
  }

  private void setMode(KcpConfig.Builder config) {
    if (!mode.equals("manual")) {
      config.mode(preset());
      return;
    }
    config
        .noDelay(checked("--nodelay", noDelay, 0, 1) == 1)
        .intervalMs(intervalMs)
        .fastRetransmit(fastRetransmit)
        .congestionControl(
            checked("--nc", noCongestionControl, 0, 1) == 1
                ? CongestionControl.NONE
                : CongestionControl.RENO);
  }

  private KcpMode preset() {
    try {
      return KcpMode.valueOf(mode.toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException(
          "--mode: " + mode + " (expected: normal, fast, fast2, fast3 or manual)", e);
    }
  }

  private SmuxConfig smux() {
    checked("--keepalive", keepAliveS, 0, MAX_KEEP_ALIVE_S);
    int timeoutS = keepAliveS == 0 ? 0 : Math.max(MIN_KEEP_ALIVE_TIMEOUT_S, 3 * keepAliveS);
    checked("--smuxbuf", smuxBufferBytes, 1, Integer.MAX_VALUE);
    return SmuxConfig.builder()
        .version(checked("--smuxver", smuxVersion, 1, 2))
        .maxFrameSize(checked("--framesize", frameBytes, 1, SmuxConfig.MAX_FRAME_SIZE))
        .maxReceiveBuffer(smuxBufferBytes)
        .maxStreamBuffer(checked("--streambuf", streamBufferBytes, 1, smuxBufferBytes))
        .peerReceiveBuffer(smuxBufferBytes)
        .keepAliveMs(keepAliveS * 1000)
        .keepAliveTimeoutMs(timeoutS * 1000)
        .maxStreams(MAX_CONNECTIONS)
        .maxNewStreamsPerSecond(MAX_CONNECTIONS)
        .build();
  }

  /**
   * Checks a range.
   *
   * @throws IllegalArgumentException if the value is out of it
   */
  static int checked(String option, int value, int min, int max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          option + ": " + value + " (expected: " + min + " to " + max + ")");
    }
    return value;
  }
}

package io.kcp4j.examples;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpMode;
import io.kcp4j.LossDetection;
import io.kcp4j.command.TransportChoice;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.internal.wire.Segment;
import io.kcp4j.lanes.LanesConfig;
import java.nio.file.Path;
import java.util.Locale;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/** The options of every session, with the names that kcptun uses. */
final class SessionOptions {

  /** After the options of the command itself. */
  private static final int LAST = 1;

  @Spec(Spec.Target.MIXEE)
  private CommandSpec command;

  @Option(
      order = LAST,
      names = "--mode",
      paramLabel = "MODE",
      description = {
        "Preset: normal, fast, fast2 or fast3; --nodelay, --interval and --resend",
        "override it (default: fast2; demo, shooter: fast3)."
      })
  private KcpMode mode;

  @Option(
      order = LAST,
      names = "--nodelay",
      paramLabel = "0|1",
      converter = SwitchConverter.class,
      description =
          "1: the first retransmission timeouts are 30 ms, not 100, and grow by half, not twofold.")
  private Switch noDelay;

  @Option(
      order = LAST,
      names = "--interval",
      paramLabel = "MS",
      description = "Flush interval: how long acknowledgements may be delayed.")
  private Integer intervalMs;

  @Option(
      order = LAST,
      names = "--resend",
      paramLabel = "N",
      description =
          "Fast retransmit after N acknowledgements of later segments; 0: never. With loss"
              + " detection by count.")
  private Integer fastRetransmit;

  @Option(
      order = LAST,
      names = "--loss-detection",
      paramLabel = "time|count",
      converter = LossDetectionConverter.class,
      defaultValue = "time",
      description = "How lost segments are detected. Default: ${DEFAULT-VALUE}.")
  private LossDetection lossDetection;

  @Option(
      order = LAST,
      names = "--nc",
      paramLabel = "0|1",
      converter = SwitchConverter.class,
      description = "1: no congestion control, 0: Reno. Default: neither, but BBR.")
  private Switch noCongestionControl;

  @Option(
      order = LAST,
      names = "--congestion-control",
      paramLabel = "NAME",
      description = "none, reno or bbr, in place of --nc. Default: bbr.")
  private String congestionControl;

  @Option(
      order = LAST,
      names = "--mtu",
      paramLabel = "BYTES",
      defaultValue = "1200",
      description = "Largest UDP payload (default: ${DEFAULT-VALUE}).")
  private int mtuBytes;

  @Option(
      order = LAST,
      names = "--sndwnd",
      paramLabel = "N",
      defaultValue = "" + KcpConfig.DEFAULT_WINDOW,
      description = "Largest send window, in segments (default: ${DEFAULT-VALUE}).")
  private int sendWindow;

  @Option(
      order = LAST,
      names = "--rcvwnd",
      paramLabel = "N",
      defaultValue = "" + KcpConfig.DEFAULT_WINDOW,
      description = "Largest receive window, in segments (default: ${DEFAULT-VALUE}).")
  private int receiveWindow;

  @Option(
      order = LAST,
      names = "--crypt",
      paramLabel = "NAME",
      converter = CipherConverter.class,
      description = {
        "Packet cipher, as kcptun names it: aes, aes-128, aes-192, aes-128-gcm, aes-192-gcm,",
        "aes-256-gcm, chacha20-poly1305, salsa20, blowfish, twofish, cast5, 3des, tea, xtea, xor,",
        "sm4, none or null (default: aes-128-gcm with --key, else null)."
      })
  private CipherAlgorithm crypt;

  @Option(
      order = LAST,
      names = "--key",
      paramLabel = "PASSPHRASE",
      description = "Shared secret; keys are derived from it as in kcptun.")
  private String passphrase;

  @Option(
      order = LAST,
      names = "--datashard",
      paramLabel = "N",
      description = "Datagrams of an FEC group, 1 to 255; 0: no FEC (the default).")
  private Integer dataShards;

  @Option(
      order = LAST,
      names = "--parityshard",
      paramLabel = "N",
      description = "Parity packets of an FEC group: it tolerates N losses.")
  private Integer parityShards;

  @Option(
      order = LAST,
      names = "--adaptive-fec",
      description = "FEC for small amounts of payload that must not be late (default of the demo).")
  private boolean isFecAdaptive;

  @Option(
      order = LAST,
      names = "--acknodelay",
      description = "Acknowledge after every batch of datagrams.")
  private boolean ackNoDelay;

  @Option(
      order = LAST,
      names = "--sockbuf",
      paramLabel = "BYTES",
      description = "Size of the send and receive buffers of the UDP socket.")
  private int socketBufferBytes;

  @Option(
      order = LAST,
      names = "--conv",
      paramLabel = "N",
      description = "Conversation id of a client (default: random). A server accepts any.")
  private long conv;

  @ArgGroup(order = LAST)
  private DeliveryOptions delivery = new DeliveryOptions();

  @Option(
      order = LAST,
      names = "--idle-timeout",
      paramLabel = "SECONDS",
      description =
          "Close sessions without payload for this long; 0: never (default: 30, servers 0).")
  private Integer idleTimeoutS;

  @Option(
      order = LAST,
      names = "--transport",
      paramLabel = "NAME",
      defaultValue = "auto",
      description = "auto, epoll, nio or io_uring (default: ${DEFAULT-VALUE}).")
  private TransportChoice transport;

  @Option(
      order = LAST,
      names = "--qlog",
      paramLabel = "DIRECTORY",
      description = "Write a qlog trace of each session to a file in this directory.")
  private Path qlogDirectory;

  private static final class DeliveryOptions {
    @Option(
        order = LAST,
        names = "--stream",
        description = "A stream of bytes, as in kcptun (the default).")
    private boolean stream;

    @Option(
        order = LAST,
        names = "--message",
        description = "Messages. Both sides need the same setting.")
    private boolean message;
  }

  TransportChoice transport() {
    return transport;
  }

  /**
   * The settings that result from these options.
   *
   * @param defaultMode the default of {@code --mode}
   * @param defaultIdleTimeoutS the default of {@code --idle-timeout}; 0 means never
   * @param defaultKeys the keys without {@code --crypt} and {@code --key}
   * @param defaultFec FEC without {@code --datashard}, {@code --parityshard}, {@code
   *     --adaptive-fec}
   * @throws ParameterException if one is out of range
   */
  BootstrapSettings settings(
      KcpMode defaultMode, int defaultIdleTimeoutS, KeyRing defaultKeys, FecConfig defaultFec) {
    try {
      KeyRing keys = keys(defaultKeys);
      FecConfig fec = fec(defaultFec);
      int overhead = keys.headroom() + keys.tailroom() + fec.headerBytes();
      checked("--mtu", mtuBytes, overhead + Segment.HEADER_BYTES + 1, KcpConfig.MAX_MTU_BYTES);
      return new BootstrapSettings(
          config(defaultMode),
          keys,
          fec,
          checked("--conv", conv, 0, 0xffffffffL),
          checked("--sockbuf", socketBufferBytes, 0, Integer.MAX_VALUE),
          checked(
              "--idle-timeout",
              idleTimeoutS == null ? defaultIdleTimeoutS : idleTimeoutS,
              0,
              Integer.MAX_VALUE / 1000),
          qlogDirectory,
          LanesConfig.DEFAULT);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(command.commandLine(), e.getMessage());
    }
  }

  private KcpConfig config(KcpMode defaultMode) {
    KcpConfig.Builder config =
        KcpConfig.builder()
            .mode(mode == null ? defaultMode : mode)
            .lossDetection(lossDetection)
            .mtuBytes(mtuBytes)
            .sendWindow(sendWindow)
            .receiveWindow(receiveWindow)
            .ackNoDelay(ackNoDelay)
            .delivery(delivery.stream || !delivery.message ? Delivery.STREAM : Delivery.MESSAGE);
    if (noDelay != null) {
      config.noDelay(noDelay == Switch.ON);
    }
    if (intervalMs != null) {
      config.intervalMs(intervalMs);
    }
    if (fastRetransmit != null) {
      config.fastRetransmit(fastRetransmit);
    }
    CongestionControl.Factory control = congestionControl();
    if (control != null) {
      config.congestionControl(control);
    }
    return config.build();
  }

  /** Null for the default. */
  private CongestionControl.Factory congestionControl() {
    if (noCongestionControl != null && congestionControl != null) {
      throw new IllegalArgumentException("--congestion-control takes the place of --nc");
    }
    if (congestionControl != null) {
      return CongestionControl.factory(congestionControl);
    }
    if (noCongestionControl != null) {
      return noCongestionControl == Switch.ON ? CongestionControl.NONE : CongestionControl.RENO;
    }
    return null;
  }

  private KeyRing keys(KeyRing defaultKeys) {
    if (crypt == null && passphrase == null) {
      return defaultKeys;
    }
    CipherAlgorithm algorithm = crypt == null ? CipherAlgorithm.AES_128_GCM : crypt;
    if (passphrase == null && algorithm.keyBytes() > 0) {
      throw new IllegalArgumentException("--crypt " + algorithm.kcptunName() + " needs --key");
    }
    return algorithm == CipherAlgorithm.NULL
        ? KeyRing.NONE
        : KeyRing.of(PacketKey.ofPassphrase(algorithm, passphrase == null ? "" : passphrase));
  }

  private FecConfig fec(FecConfig defaultFec) {
    if (dataShards == null && parityShards == null) {
      return isFecAdaptive ? FecConfig.adaptive() : defaultFec;
    }
    if (isFecAdaptive) {
      throw new IllegalArgumentException("--adaptive-fec has a ratio of its own");
    }
    int data = dataShards == null ? 0 : dataShards;
    int parity = parityShards == null ? 0 : parityShards;
    return data == 0 && parity == 0 ? FecConfig.NONE : FecConfig.of(data, parity);
  }

  private static int checked(String option, long value, long min, long max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(
          option + ": " + value + " (expected: " + min + " to " + max + ")");
    }
    return (int) value;
  }

  /** kcptun writes its switches as 0 and 1. Not a Boolean: picocli treats that as a flag. */
  private enum Switch {
    OFF,
    ON
  }

  static final class CipherConverter implements ITypeConverter<CipherAlgorithm> {
    @Override
    public CipherAlgorithm convert(String name) {
      try {
        return CipherAlgorithm.of(name);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(e.getMessage());
      }
    }
  }

  static final class LossDetectionConverter implements ITypeConverter<LossDetection> {
    @Override
    public LossDetection convert(String text) {
      return switch (text.toLowerCase(Locale.ROOT)) {
        case "time" -> LossDetection.RACK;
        case "count" -> LossDetection.FAST_RETRANSMIT;
        default -> throw new TypeConversionException("'" + text + "' is neither time nor count");
      };
    }
  }

  static final class SwitchConverter implements ITypeConverter<Switch> {
    @Override
    public Switch convert(String text) {
      return switch (text) {
        case "0" -> Switch.OFF;
        case "1" -> Switch.ON;
        default -> throw new TypeConversionException("'" + text + "' is neither 0 nor 1");
      };
    }
  }
}

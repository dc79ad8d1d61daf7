package io.kcp4j.load;

import io.kcp4j.CongestionControl;
import io.kcp4j.Delivery;
import io.kcp4j.KcpConfig;
import io.kcp4j.KcpMode;
import io.kcp4j.LossDetection;
import io.kcp4j.crypto.CipherAlgorithm;
import io.kcp4j.crypto.KeyRing;
import io.kcp4j.crypto.PacketKey;
import io.kcp4j.fec.FecConfig;
import io.kcp4j.lanes.LaneConfig;
import io.kcp4j.lanes.LaneKind;
import io.kcp4j.lanes.LanesConfig;
import io.kcp4j.netty.KcpChannel;
import io.kcp4j.netty.KcpChannelOption;
import io.kcp4j.netty.KcpServerChannel;
import io.kcp4j.netty.KcpServerChannelOption;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import java.util.Locale;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.TypeConversionException;

/**
 * kcp4j in its fastest mode, or with its default options. The options have the names that kcptun
 * uses.
 */
final class KcpProtocol implements LoadProtocol {

  @Option(
      names = "--sndwnd",
      paramLabel = "N",
      defaultValue = "1024",
      description = "KCP's send window, in segments (default: ${DEFAULT-VALUE}).")
  private int sendWindow;

  @Option(
      names = "--rcvwnd",
      paramLabel = "N",
      defaultValue = "1024",
      description = "KCP's receive window, in segments (default: ${DEFAULT-VALUE}).")
  private int receiveWindow;

  @Option(
      names = "--mtu",
      paramLabel = "BYTES",
      defaultValue = "1200",
      description = "Largest UDP payload of KCP (default: ${DEFAULT-VALUE}).")
  private int mtuBytes;

  @Option(
      names = "--loss-detection",
      paramLabel = "time|count",
      converter = LossDetectionConverter.class,
      defaultValue = "time",
      description = "How KCP detects losses (default: ${DEFAULT-VALUE}).")
  private LossDetection lossDetection;

  @Option(
      names = "--congestion-control",
      paramLabel = "NAME",
      defaultValue = "none",
      description = "none, reno or bbr (default: ${DEFAULT-VALUE}).")
  private String congestionControl;

  @Option(
      names = "--crypt",
      paramLabel = "NAME",
      defaultValue = "null",
      description = "Packet cipher of KCP, by its kcptun name (default: ${DEFAULT-VALUE}).")
  private String crypt;

  @Option(
      names = "--key",
      paramLabel = "PASSPHRASE",
      defaultValue = "",
      description = "The passphrase that the key of the cipher is derived from.")
  private String passphrase;

  @Option(
      names = "--datashard",
      paramLabel = "N",
      description = "Datagrams of an FEC group; 0, as --parityshard: no FEC.")
  private int dataShards;

  @Option(
      names = "--parityshard",
      paramLabel = "N",
      description = "Parity packets of an FEC group.")
  private int parityShards;

  @Option(
      names = "--adaptive-fec",
      paramLabel = "N",
      description = "Adaptive FEC with at most N parity packets of a group, instead of a ratio.")
  private int adaptiveParity;

  @Option(
      names = "--lane-kind",
      description =
          "Delivery by lanes of this kind, one of ${COMPLETION-CANDIDATES}, in place of a stream.")
  private LaneKind laneKind;

  @Option(
      names = "--defaults",
      description =
          "The default options of kcp4j: of the others, only --crypt, --key and --memory-limit"
              + " have an effect.")
  private boolean hasDefaults;

  @Option(names = "--messages", description = "Delivery by messages in place of a stream.")
  private boolean hasMessages;

  @Option(
      names = "--memory-limit",
      paramLabel = "BYTES",
      description = "What all sessions of a server may hold (default: half of the heap).")
  private long memoryLimitBytes;

  /** Sets options on a bootstrap, or on a builder that has one. */
  @FunctionalInterface
  interface OptionSetter {
    /** Sets an option. */
    <T> void set(ChannelOption<T> option, T value);
  }

  /** The options of a server and of its sessions. */
  void serverOptions(OptionSetter server, OptionSetter child) {
    server.set(KcpChannelOption.KEY_RING, keys());
    if (memoryLimitBytes > 0) {
      server.set(KcpServerChannelOption.MEMORY_LIMIT, memoryLimitBytes);
    }
    socketOptions(server);
    sessionOptions(child);
  }

  /** The options of a client. */
  void clientOptions(OptionSetter client) {
    client.set(KcpChannelOption.KEY_RING, keys());
    socketOptions(client);
    sessionOptions(client);
  }

  /** Whether messages are on lanes. */
  boolean hasLanes() {
    return laneKind != null;
  }

  /** Whether all that is sent on a lane, or on the stream, arrives in order. */
  boolean isOrdered() {
    return laneKind == null || laneKind == LaneKind.RELIABLE_ORDERED;
  }

  private void socketOptions(OptionSetter options) {
    if (hasDefaults) {
      return;
    }
    options.set(ChannelOption.SO_RCVBUF, SOCKET_BUFFER_BYTES);
    options.set(ChannelOption.SO_SNDBUF, SOCKET_BUFFER_BYTES);
  }

  private void sessionOptions(OptionSetter options) {
    if (hasDefaults) {
      return;
    }
    options.set(KcpChannelOption.CONFIG, config());
    options.set(KcpChannelOption.FEC, fec());
    options.set(KcpChannelOption.LINGER, 0);
    if (hasLanes()) {
      LanesConfig lanes = LanesConfig.builder().defaultLane(LaneConfig.of(laneKind)).build();
      options.set(KcpChannelOption.LANES, lanes);
    }
  }

  @Override
  public Channel listen(EventLoopGroup group, InetSocketAddress local, ChannelHandler handler)
      throws InterruptedException {
    ServerBootstrap server = new ServerBootstrap().group(group).channel(KcpServerChannel.class);
    serverOptions(server::option, server::childOption);
    bufferOptions(server::childOption);
    return server.childHandler(handler).bind(local).sync().channel();
  }

  @Override
  public Channel connect(EventLoopGroup group, InetSocketAddress remote, ChannelHandler handler)
      throws InterruptedException {
    Bootstrap client = new Bootstrap().group(group).channel(KcpChannel.class);
    clientOptions(client::option);
    bufferOptions(client::option);
    return client.handler(handler).connect(remote).sync().channel();
  }

  private void bufferOptions(OptionSetter options) {
    if (hasDefaults) {
      return;
    }
    options.set(ChannelOption.ALLOCATOR, PooledByteBufAllocator.DEFAULT);
    options.set(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK);
  }

  private KcpConfig config() {
    return KcpConfig.builder()
        .mode(KcpMode.FAST3)
        .delivery(delivery())
        .mtuBytes(mtuBytes)
        .sendWindow(sendWindow)
        .receiveWindow(receiveWindow)
        .lossDetection(lossDetection)
        .congestionControl(CongestionControl.factory(congestionControl))
        .build();
  }

  private Delivery delivery() {
    if (hasLanes()) {
      return Delivery.LANES;
    }
    return hasMessages ? Delivery.MESSAGE : Delivery.STREAM;
  }

  private KeyRing keys() {
    CipherAlgorithm algorithm = CipherAlgorithm.of(crypt);
    return algorithm == CipherAlgorithm.NULL
        ? KeyRing.NONE
        : KeyRing.of(PacketKey.ofPassphrase(algorithm, passphrase));
  }

  private FecConfig fec() {
    if (adaptiveParity > 0) {
      return FecConfig.adaptive().toBuilder().maxParity(adaptiveParity).build();
    }
    return dataShards == 0 ? FecConfig.NONE : FecConfig.of(dataShards, parityShards);
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
}

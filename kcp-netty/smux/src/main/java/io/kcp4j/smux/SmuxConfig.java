package io.kcp4j.smux;

/**
 * The settings of a smux session. Immutable, so that many sessions share one.
 *
 * <p>Both sides have to use the same {@link #version()}: smux does not negotiate it. The other
 * settings may differ.
 */
public final class SmuxConfig {

  /** The most payload of a frame, in bytes: the header has 16 bits for it. */
  public static final int MAX_FRAME_SIZE = 65535;

  /** The default of {@link #maxStreams()}. */
  public static final int DEFAULT_MAX_STREAMS = 1024;

  private static final int DEFAULT_BUFFER = 4 << 20;

  /** The default configuration. */
  public static final SmuxConfig DEFAULT = new Builder().build();

  private final int version;
  private final int maxFrameSize;
  private final int maxReceiveBuffer;
  private final int maxStreamBuffer;
  private final int peerReceiveBuffer;
  private final int keepAliveMs;
  private final int keepAliveTimeoutMs;
  private final int maxStreams;
  private final int maxNewStreamsPerSecond;
  private final int stalledStreamMs;
  private final int closeTimeoutMs;

  private SmuxConfig(Builder builder) {
    version = builder.version;
    maxFrameSize = builder.maxFrameSize;
    maxReceiveBuffer = builder.maxReceiveBuffer;
    maxStreamBuffer = builder.maxStreamBuffer;
    peerReceiveBuffer = builder.peerReceiveBuffer;
    keepAliveMs = builder.keepAliveMs;
    keepAliveTimeoutMs = builder.keepAliveTimeoutMs;
    maxStreams = builder.maxStreams;
    maxNewStreamsPerSecond = builder.maxNewStreamsPerSecond;
    stalledStreamMs = builder.stalledStreamMs;
    closeTimeoutMs = builder.closeTimeoutMs;
  }

  /**
   * The version of the protocol, 1 or 2, default 2. Version 1 has no flow control of streams: one
   * stream that is not read blocks all others once {@link #maxReceiveBuffer()} is full. Go's smux
   * has the default 1, kcptun 2.
   */
  public int version() {
    return version;
  }

  /** The most payload of a frame that is sent, in bytes: 1 to 65535, default 32768. */
  public int maxFrameSize() {
    return maxFrameSize;
  }

  /**
   * How much the session takes in that streams have not read, in bytes: 1 or more, default 4 MiB.
   * Each piece of less than 256 bytes counts as 256. When it is used up, the session {@linkplain
   * SmuxSession#isReceiveBlocked() is blocked}.
   */
  public int maxReceiveBuffer() {
    return maxReceiveBuffer;
  }

  /**
   * The receive window of a stream in version 2, in bytes: 1 to {@link #maxReceiveBuffer()},
   * default 64 KiB. Before the first window update, peers assume 256 KiB whatever this is.
   */
  public int maxStreamBuffer() {
    return maxStreamBuffer;
  }

  /**
   * The receive buffer of the peer's session in version 2, in bytes: 1 or more, default 4 MiB. What
   * all streams have sent and the peer has not read stays below it, as far as window updates tell,
   * because a peer whose buffer is full stops reading all streams. Should be 4/3 of the peer's
   * {@link #maxStreamBuffer()} or more: then slow readers fill no buffer of kcp4j.
   */
  public int peerReceiveBuffer() {
    return peerReceiveBuffer;
  }

  /** The interval of keep-alive frames, in milliseconds, default 10000. 0: none are sent. */
  public int keepAliveMs() {
    return keepAliveMs;
  }

  /**
   * How long the session lives without receiving anything, in milliseconds, default 30000. 0:
   * without limit. Time in which the session is {@linkplain SmuxSession#isReceiveBlocked() blocked}
   * does not count.
   */
  public int keepAliveTimeoutMs() {
    return keepAliveTimeoutMs;
  }

  /**
   * The most streams open at once, of both sides together: 1 to 1000000, default {@value
   * #DEFAULT_MAX_STREAMS}. Further streams of the peer are refused, further own ones fail to open.
   */
  public int maxStreams() {
    return maxStreams;
  }

  /**
   * The most streams that the peer may open in a second: 1 to 1000000, default 1024; as many may
   * come at once. Further ones are refused.
   */
  public int maxNewStreamsPerSecond() {
    return maxNewStreamsPerSecond;
  }

  /**
   * In version 2, how long {@link #maxReceiveBuffer()} may be used up before the largest of the
   * streams that were not read meanwhile is cut, so that the others go on: in milliseconds, 1 or
   * more, default 10000.
   */
  public int stalledStreamMs() {
    return stalledStreamMs;
  }

  /**
   * How long the peer has for its part of a stream's end, in milliseconds: 1 or more, default
   * 30000. After {@link SmuxStream#close()}, what the peer still sends is discarded for so long,
   * and in version 2 credited. After the end of what the peer sends, a stream fails whose peer has
   * not read for so long what it should.
   */
  public int closeTimeoutMs() {
    return closeTimeoutMs;
  }

  /** A builder with the defaults. */
  public static Builder builder() {
    return new Builder();
  }

  /** A builder with these settings. */
  public Builder toBuilder() {
    Builder builder = new Builder();
    builder.version = version;
    builder.maxFrameSize = maxFrameSize;
    builder.maxReceiveBuffer = maxReceiveBuffer;
    builder.maxStreamBuffer = maxStreamBuffer;
    builder.peerReceiveBuffer = peerReceiveBuffer;
    builder.keepAliveMs = keepAliveMs;
    builder.keepAliveTimeoutMs = keepAliveTimeoutMs;
    builder.maxStreams = maxStreams;
    builder.maxNewStreamsPerSecond = maxNewStreamsPerSecond;
    builder.stalledStreamMs = stalledStreamMs;
    builder.closeTimeoutMs = closeTimeoutMs;
    return builder;
  }

  /**
   * Collects settings. Every setter checks its range and throws {@link IllegalArgumentException}
   * for a value outside of it.
   */
  public static final class Builder {

    private int version = 2;
    private int maxFrameSize = 32768;
    private int maxReceiveBuffer = DEFAULT_BUFFER;
    private int maxStreamBuffer = 65536;
    private int peerReceiveBuffer = DEFAULT_BUFFER;
    private int keepAliveMs = 10_000;
    private int keepAliveTimeoutMs = 30_000;
    private int maxStreams = DEFAULT_MAX_STREAMS;
    private int maxNewStreamsPerSecond = 1024;
    private int stalledStreamMs = 10_000;
    private int closeTimeoutMs = 30_000;

    private Builder() {}

    /** Sets {@link SmuxConfig#version()}. */
    public Builder version(int version) {
      this.version = checkRange("version", version, 1, 2);
      return this;
    }

    /** Sets {@link SmuxConfig#maxFrameSize()}. */
    public Builder maxFrameSize(int bytes) {
      maxFrameSize = checkRange("maxFrameSize", bytes, 1, MAX_FRAME_SIZE);
      return this;
    }

    /** Sets {@link SmuxConfig#maxReceiveBuffer()}. */
    public Builder maxReceiveBuffer(int bytes) {
      maxReceiveBuffer = checkRange("maxReceiveBuffer", bytes, 1, Integer.MAX_VALUE);
      return this;
    }

    /** Sets {@link SmuxConfig#maxStreamBuffer()}. */
    public Builder maxStreamBuffer(int bytes) {
      maxStreamBuffer = checkRange("maxStreamBuffer", bytes, 1, Integer.MAX_VALUE);
      return this;
    }

    /** Sets {@link SmuxConfig#peerReceiveBuffer()}. */
    public Builder peerReceiveBuffer(int bytes) {
      peerReceiveBuffer = checkRange("peerReceiveBuffer", bytes, 1, Integer.MAX_VALUE);
      return this;
    }

    /** Sets {@link SmuxConfig#keepAliveMs()}. */
    public Builder keepAliveMs(int ms) {
      keepAliveMs = checkRange("keepAliveMs", ms, 0, Integer.MAX_VALUE);
      return this;
    }

    /** Sets {@link SmuxConfig#keepAliveTimeoutMs()}. */
    public Builder keepAliveTimeoutMs(int ms) {
      keepAliveTimeoutMs = checkRange("keepAliveTimeoutMs", ms, 0, Integer.MAX_VALUE);
      return this;
    }

    /** Sets {@link SmuxConfig#maxStreams()}. */
    public Builder maxStreams(int streams) {
      maxStreams = checkRange("maxStreams", streams, 1, 1_000_000);
      return this;
    }

    /** Sets {@link SmuxConfig#maxNewStreamsPerSecond()}. */
    public Builder maxNewStreamsPerSecond(int streams) {
      maxNewStreamsPerSecond = checkRange("maxNewStreamsPerSecond", streams, 1, 1_000_000);
      return this;
    }

    /** Sets {@link SmuxConfig#stalledStreamMs()}. */
    public Builder stalledStreamMs(int ms) {
      stalledStreamMs = checkRange("stalledStreamMs", ms, 1, Integer.MAX_VALUE);
      return this;
    }

    /** Sets {@link SmuxConfig#closeTimeoutMs()}. */
    public Builder closeTimeoutMs(int ms) {
      closeTimeoutMs = checkRange("closeTimeoutMs", ms, 1, Integer.MAX_VALUE);
      return this;
    }

    /**
     * Makes the settings.
     *
     * @throws IllegalArgumentException if {@link #maxStreamBuffer} is more than {@link
     *     #maxReceiveBuffer}, or {@link #keepAliveTimeoutMs} is less than {@link #keepAliveMs} and
     *     not 0
     */
    public SmuxConfig build() {
      checkRange("maxStreamBuffer", maxStreamBuffer, 1, maxReceiveBuffer);
      if (keepAliveTimeoutMs != 0) {
        checkRange("keepAliveTimeoutMs", keepAliveTimeoutMs, keepAliveMs, Integer.MAX_VALUE);
      }
      return new SmuxConfig(this);
    }

    private static int checkRange(String name, int value, int min, int max) {
      if (value < min || value > max) {
        throw new IllegalArgumentException(
            name + ": " + value + " (expected: " + min + " to " + max + ")");
      }
      return value;
    }
  }
}

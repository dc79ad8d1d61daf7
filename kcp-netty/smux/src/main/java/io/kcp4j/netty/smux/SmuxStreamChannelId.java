package io.kcp4j.netty.smux;

import io.netty.channel.ChannelId;

/**
 * The id of a stream's channel: the id of its connection's channel and the stream id, such as
 * {@code 8bcc1a2d/3}. Unique as long as that of the connection is, since stream ids are never used
 * again.
 */
final class SmuxStreamChannelId implements ChannelId {

  private static final long serialVersionUID = 1L;

  private final ChannelId parent;
  private final int streamId;

  SmuxStreamChannelId(ChannelId parent, int streamId) {
    this.parent = parent;
    this.streamId = streamId;
  }

  @Override
  public String asShortText() {
    return parent.asShortText() + '/' + Integer.toUnsignedString(streamId);
  }

  @Override
  public String asLongText() {
    return parent.asLongText() + '/' + Integer.toUnsignedString(streamId);
  }

  @Override
  public int compareTo(ChannelId other) {
    if (other instanceof SmuxStreamChannelId id) {
      int order = parent.compareTo(id.parent);
      return order == 0 ? Integer.compareUnsigned(streamId, id.streamId) : order;
    }
    return asLongText().compareTo(other.asLongText());
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SmuxStreamChannelId id
        && streamId == id.streamId
        && parent.equals(id.parent);
  }

  @Override
  public int hashCode() {
    return 31 * parent.hashCode() + streamId;
  }

  @Override
  public String toString() {
    return asShortText();
  }
}

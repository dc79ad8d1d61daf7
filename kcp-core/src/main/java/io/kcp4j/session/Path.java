package io.kcp4j.session;

import java.net.InetSocketAddress;

/**
 * A remote address that packets are exchanged with, and what is known of it.
 *
 * <p>A path is validated when it is known that its peer receives at that address, so that it is not
 * the forged source of somebody else's packets (RFC 9000 §8). The path of a session that this side
 * has begun is validated from the beginning, since this side chose the address. The path of an
 * accepted session is validated by the first acknowledgement that yields a round-trip time: it
 * returns the timestamp of a segment that was sent on the path, and timestamps begin at a random
 * origin. Cumulative acknowledgements validate nothing, since sequence numbers can be guessed.
 *
 * <p>Used by the thread of its session.
 */
public final class Path {

  private final InetSocketAddress remote;
  private boolean isValidated;
  private long bytesReceived;
  private long bytesSent;

  Path(InetSocketAddress remote) {
    this.remote = remote;
  }

  /** The remote address. */
  public InetSocketAddress remote() {
    return remote;
  }

  /** Whether it is known that the peer receives at this address. */
  public boolean isValidated() {
    return isValidated;
  }

  /** The bytes of all packets of the session that were received, refused ones included. */
  public long bytesReceived() {
    return bytesReceived;
  }

  /** The bytes of all packets that were sent. */
  public long bytesSent() {
    return bytesSent;
  }

  /**
   * Whether a flush may begin that sends up to {@code bytes}. Paths have no limit yet; that of RFC
   * 9000 §8.1 for paths that are not validated belongs here.
   */
  boolean maySend(int bytes) {
    return true;
  }

  void validate() {
    isValidated = true;
  }

  void onReceived(int bytes) {
    bytesReceived += bytes;
  }

  void onSent(int bytes) {
    bytesSent += bytes;
  }
}

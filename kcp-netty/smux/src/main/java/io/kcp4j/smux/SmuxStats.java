package io.kcp4j.smux;

import io.kcp4j.Unstable;

/**
 * The state of a smux session at one moment, and what it has counted.
 *
 * @param openStreams streams that are open
 * @param closingStreams streams that were closed or refused here and wait for the peer's FIN
 * @param openedStreams streams that this side has opened
 * @param acceptedStreams streams that the peer has opened and that were accepted
 * @param refusedStreams streams of the peer that were refused, by a limit or by the listener
 * @param cutStreams streams that failed while the session goes on
 * @param unreadBytes what counts against the receive buffer, in bytes
 * @param unacknowledgedBytes in version 2, what was sent and not reported as read, in bytes
 * @param framesIn frames received
 * @param framesOut frames sent
 * @param bytesIn payload received, discarded payload included, in bytes
 * @param bytesOut payload sent, in bytes
 * @param discardedBytes payload received for no stream, or for one that is closed, in bytes
 * @param violations frames of the peer that break the protocol, and were ignored or ended a stream:
 *     SYN for a stream that exists, data after FIN or beyond the window, false window updates
 */
@Unstable
public record SmuxStats(
    int openStreams,
    int closingStreams,
    long openedStreams,
    long acceptedStreams,
    long refusedStreams,
    long cutStreams,
    long unreadBytes,
    long unacknowledgedBytes,
    long framesIn,
    long framesOut,
    long bytesIn,
    long bytesOut,
    long discardedBytes,
    long violations) {}

package io.kcp4j.lanes;

import io.kcp4j.internal.lanes.Lane;

/**
 * What one side has sent and received on a lane, and what waits: see {@link Lane#stats}.
 *
 * @param messagesOut messages that have begun to leave, modulo 2^32; each end of the lane counts as
 *     one
 * @param messagesIn the same of the peer, up to the first of which not all has arrived; on an
 *     unreliable lane, up to the newest that has arrived
 * @param queuedMessages messages that wait to be sent
 * @param queuedBytes their content, in bytes
 * @param outstandingBytes what has left, or has begun to, and the peer has not reported as read, in
 *     bytes, where each message counts {@value LanesConfig#MESSAGE_OVERHEAD_BYTES} more than its
 *     size; 0 on an unreliable lane
 * @param unreadMessages messages that wait to be read
 */
public record LaneStats(
    long messagesOut,
    long messagesIn,
    int queuedMessages,
    int queuedBytes,
    int outstandingBytes,
    int unreadMessages) {}

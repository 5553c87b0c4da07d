//! Field numbers of the FIX dictionary that this crate reads or writes (FIX 4.4, volume 6).

macro_rules! tags {
    ($($(#[$doc:meta])* $name:ident = $number:literal;)*) => {
        $(#[doc = concat!("Field ", $number, ".")] pub const $name: u32 = $number;)*
    };
}

tags! {
    AVG_PX = 6;
    BEGIN_SEQ_NO = 7;
    BEGIN_STRING = 8;
    BODY_LENGTH = 9;
    CHECK_SUM = 10;
    CL_ORD_ID = 11;
    CUM_QTY = 14;
    END_SEQ_NO = 16;
    EXEC_ID = 17;
    EXEC_TRANS_TYPE = 20;
    LAST_PX = 31;
    LAST_QTY = 32;
    MSG_SEQ_NUM = 34;
    MSG_TYPE = 35;
    NEW_SEQ_NO = 36;
    ORDER_ID = 37;
    ORDER_QTY = 38;
    ORD_STATUS = 39;
    ORD_TYPE = 40;
    ORIG_CL_ORD_ID = 41;
    POSS_DUP_FLAG = 43;
    PRICE = 44;
    REF_SEQ_NUM = 45;
    SENDER_COMP_ID = 49;
    SENDING_TIME = 52;
    SIDE = 54;
    SYMBOL = 55;
    TARGET_COMP_ID = 56;
    TEXT = 58;
    TIME_IN_FORCE = 59;
    TRANSACT_TIME = 60;
    SIGNATURE = 89;
    SIGNATURE_LENGTH = 93;
    RAW_DATA_LENGTH = 95;
    RAW_DATA = 96;
    ENCRYPT_METHOD = 98;
    CXL_REJ_REASON = 102;
    ORD_REJ_REASON = 103;
    HEART_BT_INT = 108;
    TEST_REQ_ID = 112;
    ORIG_SENDING_TIME = 122;
    GAP_FILL_FLAG = 123;
    RESET_SEQ_NUM_FLAG = 141;
    EXEC_TYPE = 150;
    LEAVES_QTY = 151;
    XML_DATA_LEN = 212;
    XML_DATA = 213;
    ENCODED_TEXT_LEN = 354;
    ENCODED_TEXT = 355;
    REF_TAG_ID = 371;
    REF_MSG_TYPE = 372;
    SESSION_REJECT_REASON = 373;
    CXL_REJ_RESPONSE_TO = 434;
    DEFAULT_APPL_VER_ID = 1137;
}

/// The data field that a length field announces: only its length says where it ends.
pub(super) fn data_of(length_tag: u32) -> Option<u32> {
    match length_tag {
        SIGNATURE_LENGTH => Some(SIGNATURE),
        RAW_DATA_LENGTH => Some(RAW_DATA),
        XML_DATA_LEN => Some(XML_DATA),
        ENCODED_TEXT_LEN => Some(ENCODED_TEXT),
        _ => None,
    }
}

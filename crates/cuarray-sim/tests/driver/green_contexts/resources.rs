//! Resources of devices, and their division.

use super::*;
use std::ptr::{null, null_mut};

#[test]
fn multiprocessors_are_split_by_the_granularity_of_the_architecture() {
    for (capability, least, sizes) in [((9, 0), 10, [16, 16, 100]), ((8, 0), 5, [6, 6, 120]), ((8, 0), 0, [4, 4, 124])]
    {
        let p = Program::with(Config { compute_capability: capability, ..Config::default() });
        let whole = of_device(&p, 0, SM);
        assert_eq!(count(&whole), 132);
        let ([first, second], rest) = split(&p, &whole, least);
        assert_eq!([&first, &second, &rest].map(count), sizes);
    }
}

#[test]
fn split_without_a_result_counts_the_groups() {
    let p = Program::new();
    let (whole, mut number) = (of_device(&p, 0, SM), 0);
    ok!(p, cuDevSmResourceSplitByCount(null_mut(), &mut number, &whole, null_mut(), 0, 16));
    assert_eq!(number, 8);
    let ignore = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
    ok!(p, cuDevSmResourceSplitByCount(null_mut(), &mut number, &whole, null_mut(), ignore, 3));
    assert_eq!(number, 33);
}

#[test]
fn remainder_of_an_even_split_is_invalid() {
    let p = Program::new();
    let whole = of_device(&p, 0, SM);
    let mut group =
        [CU_DEV_SM_RESOURCE_GROUP_PARAMS { flags: CU_DEV_SM_RESOURCE_GROUP_BACKFILL, ..Default::default() }];
    let (mut result, mut rest) = (CUdevResource::default(), whole);
    ok!(p, cuDevSmResourceSplit(&mut result, 1, &whole, &mut rest, 0, group.as_mut_ptr()));
    assert_eq!((count(&result), group[0].smCount, rest.kind), (132, 132, CU_DEV_RESOURCE_TYPE_INVALID));
}

#[test]
fn remainder_is_split_again_and_a_group_is_not() {
    let p = Program::new();
    let ([group, _], rest) = split(&p, &of_device(&p, 0, SM), 32);
    assert_eq!(count(&split(&p, &rest, 8).1), 132 - 64 - 16);
    let mut number = 1;
    fails!(
        p,
        INVALID_RESOURCE_CONFIGURATION,
        cuDevSmResourceSplitByCount(null_mut(), &mut number, &group, null_mut(), 0, 8)
    );
    let again = of_green(&p, create(&p, &[group]), SM);
    assert_eq!(count(&split(&p, &again, 8).1), 16);
}

#[test]
fn split_by_count_refuses_what_the_device_does_not_have() {
    let p = Program::new();
    let (whole, queues, mut number) = (of_device(&p, 0, SM), of_device(&p, 0, WORKQUEUE_CONFIG), 1);
    let (of, mut group) = (&raw const whole, whole);
    fails!(p, INVALID_VALUE, cuDevSmResourceSplitByCount(null_mut(), null_mut(), of, null_mut(), 0, 8));
    fails!(p, INVALID_VALUE, cuDevSmResourceSplitByCount(null_mut(), &mut number, null(), null_mut(), 0, 8));
    fails!(p, INVALID_VALUE, cuDevSmResourceSplitByCount(null_mut(), &mut number, of, null_mut(), 4, 8));
    fails!(p, INVALID_VALUE, cuDevSmResourceSplitByCount(null_mut(), &mut number, of, null_mut(), 0, 133));
    fails!(p, INVALID_VALUE, cuDevSmResourceSplitByCount(&mut group, &mut 0, of, null_mut(), 0, 8));
    fails!(
        p,
        INVALID_RESOURCE_CONFIGURATION,
        cuDevSmResourceSplitByCount(null_mut(), &mut number, of, null_mut(), 0, 132)
    );
    fails!(p, INVALID_RESOURCE_TYPE, cuDevSmResourceSplitByCount(null_mut(), &mut number, &queues, null_mut(), 0, 8));
    let foreign = CUdevResource { kind: SM, ..CUdevResource::default() };
    fails!(p, INVALID_VALUE, cuDevSmResourceSplitByCount(null_mut(), &mut number, &foreign, null_mut(), 0, 8));
}

#[test]
fn split_into_described_groups_refuses_wrong_parameters() {
    let p = Program::new();
    let (whole, mut groups) = (of_device(&p, 0, SM), [CU_DEV_SM_RESOURCE_GROUP_PARAMS::default()]);
    let params = groups.as_mut_ptr();
    fails!(p, INVALID_VALUE, cuDevSmResourceSplit(null_mut(), 1, &whole, null_mut(), 1, params));
    fails!(p, INVALID_VALUE, cuDevSmResourceSplit(null_mut(), 0, &whole, null_mut(), 0, params));
    fails!(p, INVALID_VALUE, cuDevSmResourceSplit(null_mut(), 1, &whole, null_mut(), 0, null_mut()));
    ok!(p, cuDevSmResourceSplit(null_mut(), 1, &whole, null_mut(), 0, params));
    assert_eq!(groups[0].smCount, 128, "the default size of co-scheduled groups is 8");
}

#[test]
fn description_combines_resources_of_one_device_and_one_split() {
    let p = Program::with(Config { devices: 2, ..Config::default() });
    let (whole, other) = (of_device(&p, 0, SM), of_device(&p, 1, SM));
    let (groups, rest) = split(&p, &whole, 32);
    let (again, _) = split(&p, &whole, 32);
    assert_eq!(count(&of_green(&p, create(&p, &groups), SM)), 64);
    let mut description = CUdevResourceDesc::NULL;
    let mut refused = |mut list: Vec<CUdevResource>| {
        let number = list.len() as u32;
        call!(p, cuDevResourceGenerateDesc(&mut description, list.as_mut_ptr(), number))
    };
    let configuration = CUresult::CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
    assert_eq!(refused(vec![whole, other]), configuration);
    assert_eq!(refused(vec![groups[0], again[1]]), configuration);
    assert_eq!(refused(vec![groups[0], rest]), configuration, "the remainder has another alignment");
    assert_eq!(refused(vec![whole, of_device(&p, 1, WORKQUEUE_CONFIG)]), configuration);
    assert_eq!(refused(vec![CUdevResource::default()]), CUresult::CUDA_ERROR_INVALID_RESOURCE_TYPE);
    assert_eq!(refused(vec![]), CUresult::CUDA_ERROR_INVALID_VALUE);
    fails!(p, INVALID_VALUE, cuDevResourceGenerateDesc(null_mut(), &mut { whole }, 1));
}

#[test]
fn resources_are_those_of_the_device_the_context_and_the_stream() {
    let p = Program::new();
    let ([group, _], _) = split(&p, &of_device(&p, 0, SM), 16);
    let green = create(&p, &[group]);
    let (stream, plain) = (stream_of(&p, green), p.stream(0));
    let (mut resource, context) = (CUdevResource::default(), context_of(&p, green));
    for (of, expected) in [(context, 16), (p.context, 132)] {
        ok!(p, cuCtxGetDevResource(of, &mut resource, SM));
        assert_eq!(count(&resource), expected);
    }
    for (of, expected) in [(stream, 16), (plain, 132), (CUstream::NULL, 132)] {
        ok!(p, cuStreamGetDevResource(of, &mut resource, SM));
        assert_eq!(count(&resource), expected);
        fails!(p, INVALID_RESOURCE_TYPE, cuStreamGetDevResource(of, &mut resource, WORKQUEUE_CONFIG));
        fails!(p, INVALID_RESOURCE_TYPE, cuStreamGetDevResource(of, &mut resource, WORKQUEUE));
    }
    fails!(p, INVALID_DEVICE, cuDeviceGetDevResource(9, &mut resource, SM));
    fails!(p, INVALID_RESOURCE_TYPE, cuDeviceGetDevResource(0, &mut resource, CU_DEV_RESOURCE_TYPE_INVALID));
    ok!(p, cuDeviceGetDevResource(0, &mut resource, WORKQUEUE));
    fails!(p, INVALID_RESOURCE_TYPE, cuCtxGetDevResource(p.context, &mut resource, 2));
    fails!(p, INVALID_RESOURCE_TYPE, cuGreenCtxGetDevResource(green, &mut resource, CU_DEV_RESOURCE_TYPE_INVALID));
}

#[test]
fn work_queues_are_configured_and_shared_between_green_contexts() {
    let p = Program::new();
    let (whole, mut config) = (of_device(&p, 0, SM), of_device(&p, 0, WORKQUEUE_CONFIG));
    let of_device = config.workqueue_config().unwrap();
    assert_eq!((of_device.device, of_device.sharingScope), (0, CU_WORKQUEUE_SCOPE_DEVICE_CTX));
    let wanted = CUdevWorkqueueConfigResource {
        wqConcurrencyLimit: 2,
        sharingScope: CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED,
        ..of_device
    };
    config.member.wqConfig = wanted;
    let own = create(&p, &[whole, config]);
    assert_eq!(of_green(&p, own, WORKQUEUE_CONFIG).workqueue_config(), Ok(wanted));
    let queues = |green| of_green(&p, green, WORKQUEUE).workqueue();
    let (same, plain) = (create(&p, &[whole, of_green(&p, own, WORKQUEUE)]), create(&p, &[whole]));
    assert_eq!(queues(same), queues(own));
    assert_ne!(queues(plain), queues(own));
    let wrong = CUdevWorkqueueConfigResource { wqConcurrencyLimit: 0, ..of_device };
    config.member.wqConfig = wrong;
    let mut description = CUdevResourceDesc::NULL;
    fails!(p, INVALID_VALUE, cuDevResourceGenerateDesc(&mut description, &mut config, 1));
}
